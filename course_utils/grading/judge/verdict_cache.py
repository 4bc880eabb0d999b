"""Caches verdicts on answers that are plain data: each value is judged once.

Some checks train a model with the answer. The judge, which runs no student code, holds the
cache in memory and in its own scratch folder, which no student's process can reach.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from course_utils.checks.declare import Exercise
from course_utils.checks.report import Outcome
from course_utils.files.saving import write_atomically
from course_utils.grading.judge.values import Encoder

LASTING = (str(Outcome.PASSED), str(Outcome.WRONG))  # an error may come from a slow machine
_WARM: dict[str, dict] = {}  # made before the judge was forked


class _NoData(Exception):
    """The value holds something that is not plain data."""


class _Data(Encoder):
    def tensor(self, value: object) -> object:
        raise _NoData

    other = tensor


def remember(exercise: Exercise, value: object, score: dict) -> None:
    """Store a verdict of the warm process for all of its forks."""
    if (key := _key(exercise, value)) and score["outcome"] in LASTING:
        _WARM[key] = score


def made_once(
    exercise: Exercise, value: object, make: Callable[[], dict], *, is_kept: bool
) -> dict:
    """The score of a value: from the cache, or from `make`.

    Args:
        exercise: the variant that was drawn.
        is_kept: whether nobody else can write where verdicts are kept.
    """
    key = _key(exercise, value)
    if not key or not is_kept:
        return make()
    if key in _WARM:
        return _WARM[key]
    path = Path(tempfile.gettempdir()) / "verdicts" / f"{key}.json"
    if path.exists():
        return json.loads(path.read_text())
    score = make()
    if score["outcome"] in LASTING:
        with suppress(OSError):  # a scratch folder that is full
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, json.dumps(score))
    return score


def _key(exercise: Exercise, value: object) -> str:
    """A digest of exercise, variant and value; "" if the value is more than plain data."""
    try:
        text = json.dumps([exercise.id, exercise.title, _Data().encode(value)])
    except (_NoData, ValueError, RecursionError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()
