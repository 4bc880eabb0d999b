"""`result.json` of `course oncall bench`: what was asked, each ticket and the sums, in one form."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from course_utils import __version__
from course_utils.files.saving import save
from course_utils.oncall.bench import COUNTED, SHARES, Protocol, Score

NAME, VERSION = "result.json", 1
_COUNT, _TEXT = {"type": "integer", "minimum": 0}, {"type": "string"}
_TICKET = {
    "name": _TEXT,  # level and number
    "level": {"enum": [1, 2, 3]},
    "fixed": {"type": "boolean"},  # the judge's trainings of the files are healthy
    "places": _COUNT,  # of the faults that were reported, how many at their place
    "classes": _COUNT,  # and with their class
    "faults": _COUNT,
    "solved": {"type": "boolean"},  # fixed, with every place and class
    "seconds": {"type": "number", "minimum": 0},  # that the command took
    "ended": _TEXT,  # "code 0", or "time"
    "problem": _TEXT,  # what the judge said
}
_SUMS = {name: _COUNT for name in (*COUNTED, "faults", *SHARES, "tickets")}
_ASKED = {
    "command": {"type": "array", "items": _TEXT},
    "levels": {"type": "array", "items": {"enum": [1, 2, 3]}},
    "num": _COUNT,  # tickets of each level
    "limit_s": {"type": "number"},
    "network": {"type": "boolean"},
    "seed_mark": _TEXT,  # tells secret seeds apart
    "readable": {"type": "array", "items": _TEXT},  # what it could read although that is hidden
    "walls": {"type": "boolean"},  # whether answers were hidden from it
}


def _whole(properties: dict) -> dict:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_whole(
        {
            "schema": {"const": VERSION},
            "made_by": _TEXT,  # the version of this package
            "protocol": _whole(_ASKED),
            "tickets": {"type": "array", "items": _whole(_TICKET)},
            "sums": _whole(_SUMS),
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
        "sums": sums | {"tickets": len(scores)},
    }


def write(out: Path, protocol: Protocol, scores: Sequence[Score]) -> Path:
    """Write it into the folder of the results."""
    path = out / NAME
    save(path, json.dumps(result_of(protocol, scores), indent=1) + "\n")
    return path
