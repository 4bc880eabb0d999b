"""`result.json` of `course oncall bench`: what was asked, each ticket and the sums, in one form."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from course_utils import __version__
from course_utils.files.saving import save
from course_utils.oncall.bench import COUNTED, SHARES, Protocol, Score
from course_utils.oncall.check_result import COUNT, FLAG, LEVEL, LOOKS, SECONDS, TEXT, whole

NAME, VERSION = "result.json", 2
_TICKET = {
    "name": TEXT,  # level and number
    "level": LEVEL,
    "fixed": FLAG,  # the judge's trainings of the files are healthy
    "places": COUNT,  # of the faults that were reported, how many at their place
    "classes": COUNT,  # and with their class
    "faults": COUNT,
    "solved": FLAG,  # fixed, with every place and class
    "seconds": SECONDS,  # by the clock, that the command took
    "ended": TEXT,  # "code 0", or "time"
    "problem": TEXT,  # what the judge said
    "looks": LOOKS,  # spent; null where looks are free
}
_SUMS = {name: COUNT for name in (*COUNTED, "faults", *SHARES, "tickets")}
_COSTS = {"seconds": SECONDS, "looks": LOOKS}  # of all tickets together
_ASKED = {
    "command": {"type": "array", "items": TEXT},
    "levels": {"type": "array", "items": LEVEL},
    "num": COUNT,  # tickets of each level
    "limit_s": {"type": "number"},
    "network": FLAG,
    "seed_mark": TEXT,  # tells secret seeds apart
    "readable": {"type": "array", "items": TEXT},  # what it could read although that is hidden
    "walls": FLAG,  # whether answers were hidden from it
    "budget": LOOKS,  # looks that each ticket allows; null where its files are open
}

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **whole(
        {
            "schema": {"const": VERSION},
            "made_by": TEXT,  # the version of this package
            "protocol": whole(_ASKED),
            "tickets": {"type": "array", "items": whole(_TICKET)},
            "sums": whole(_SUMS | _COSTS),
        }
    ),
}


def result_of(protocol: Protocol, scores: Sequence[Score]) -> dict:
    """What `SCHEMA` describes."""
    sums = {name: sum(getattr(one, name) for one in scores) for name in _SUMS if name != "tickets"}
    return {
        "schema": VERSION,
        "made_by": f"brokenruns {__version__}",
        "protocol": json.loads(json.dumps(asdict(protocol))),
        "tickets": [asdict(one) for one in scores],
        "sums": sums | {"tickets": len(scores)} | _costs(protocol, scores),
    }


def _costs(protocol: Protocol, scores: Sequence[Score]) -> dict:
    looks = None if protocol.budget is None else sum(one.looks for one in scores)
    return {"seconds": round(sum(one.seconds for one in scores), 1), "looks": looks}


def write(out: Path, protocol: Protocol, scores: Sequence[Score]) -> Path:
    """Write it into the folder of the results."""
    path = out / NAME
    save(path, json.dumps(result_of(protocol, scores), indent=1) + "\n")
    return path
