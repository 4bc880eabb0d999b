"""What `course oncall check --json` prints: the outcome of one check, in one form.

`SCHEMA` describes it; "schema" rises when a name or a meaning changes.
"""

import math

from course_utils.oncall.check import Outcome
from course_utils.oncall.prices import Bill

VERSION = 1
COUNT, TEXT, FLAG = {"type": "integer", "minimum": 0}, {"type": "string"}, {"type": "boolean"}
SECONDS = {"type": "number", "minimum": 0}
LOOKS = {"type": ["integer", "null"], "minimum": 0}
LEVEL = {"enum": [1, 2, 3]}
_MEASURED = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}


def whole(properties: dict) -> dict:
    """The schema of an object that has these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **whole(
        {
            "schema": {"const": VERSION},
            "level": LEVEL,
            "fixed": FLAG,  # the judge's trainings of the files are healthy
            "places": COUNT,  # of the faults, how many the report places; 0 until it is fixed
            "classes": COUNT,  # and of how many it names the class; 0 until it is fixed
            "faults": COUNT,
            "solved": FLAG,  # fixed, with every place and class
            "problems": {"type": "array", "items": TEXT},  # of the run
            "report": TEXT,  # why the report is not judged, or ""
            "measured": {"type": "array", "items": _MEASURED},  # by metric, a seed each
            "seconds": SECONDS,  # that the check took
            "looks": LOOKS,  # spent; null where looks are free
            "budget": LOOKS,  # that may be spent
        }
    ),
}


def result_of(outcome: Outcome, *, seconds: float, looks: Bill | None) -> dict:
    """What `SCHEMA` describes."""
    return {
        "schema": VERSION,
        "level": outcome.case.level,
        **outcome.to_dict(),
        "report": outcome.reported.problem,
        "measured": [_finite(one) for one in outcome.measured if one],
        "seconds": round(seconds, 1),
        "looks": looks and looks.spent,
        "budget": looks and looks.num_looks,
    }


def _finite(measured: dict[str, float]) -> dict[str, float | None]:
    """JSON has neither nan nor inf."""
    return {name: value if math.isfinite(value) else None for name, value in measured.items()}
