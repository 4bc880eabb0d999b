"""`result.json` of `course oncall bench`: what was asked, each ticket, the sums, and the rates.

Schema 3 has healthy tickets: `healthy` of the protocol and of each ticket, `false_fix`, and `rates`
with their intervals in place of most sums.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from course_utils import __version__
from course_utils.files.saving import save
from course_utils.oncall.bench.score import COUNTED, Rate, Score, rates
from course_utils.oncall.bench.stored import Protocol
from course_utils.oncall.check_result import COUNT, FLAG, LEVEL, LOOKS, SECONDS, TEXT, whole

NAME, VERSION = "result.json", 3
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_TICKET = {
    "name": TEXT,  # level and number
    "level": LEVEL,
    "healthy": FLAG,  # nothing was wrong with its run
    "fixed": FLAG,  # the judge's trainings of the files are healthy; of a healthy run, untouched
    "places": COUNT,  # of the faults that were reported, how many at their place
    "classes": COUNT,  # and with their class
    "faults": COUNT,  # 0 of a healthy run
    "solved": FLAG,  # fixed, with every place and class; a healthy run untouched and called so
    "false_fix": FLAG,  # a healthy run was changed
    "seconds": SECONDS,  # by the clock, that the command took
    "ended": TEXT,  # "code 0", or "time"
    "problem": TEXT,  # what the judge said
    "looks": LOOKS,  # spent; null where looks are free
}
_RATE = {
    "num": COUNT,
    "of": COUNT,  # faults, broken runs, tickets, healthy runs
    "low": _SHARE,  # Wilson's 95 % interval of num / of; 0 and 1 where `of` is 0
    "high": _SHARE,
}
_SUMS = {"tickets": COUNT, "seconds": SECONDS, "looks": LOOKS}
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
    "healthy": _SHARE,  # of the tickets that are healthy
}

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **whole(
        {
            "schema": {"const": VERSION},
            "made_by": TEXT,  # the version of this package
            "protocol": whole(_ASKED),
            "tickets": {"type": "array", "items": whole(_TICKET)},
            "rates": whole({name: whole(_RATE) for name in COUNTED}),
            "sums": whole(_SUMS),
        }
    ),
}


def result_of(protocol: Protocol, scores: Sequence[Score]) -> dict:
    """What `SCHEMA` describes."""
    return {
        "schema": VERSION,
        "made_by": f"brokenruns {__version__}",
        "protocol": json.loads(json.dumps(asdict(protocol))),
        "tickets": [_ticket(one) for one in scores],
        "rates": {name: _rate(rate) for name, rate in rates(scores).items()},
        "sums": {
            "tickets": len(scores),
            "seconds": round(sum(one.seconds for one in scores), 1),
            "looks": None if protocol.budget is None else sum(one.looks for one in scores),
        },
    }


def _ticket(one: Score) -> dict:
    return asdict(one) | {"healthy": one.is_healthy, "false_fix": one.is_false_fix}


def _rate(rate: Rate) -> dict:
    low, high = (round(end, 4) for end in rate.interval)
    return {"num": rate.num, "of": rate.of, "low": low, "high": high}


def write(out: Path, protocol: Protocol, scores: Sequence[Score]) -> Path:
    """Write it into the folder of the results."""
    path = out / NAME
    save(path, json.dumps(result_of(protocol, scores), indent=1) + "\n")
    return path
