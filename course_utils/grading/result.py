"""The result of one submission: a grade, "cannot be graded", or "the grader failed".

Exactly one of the three. Only the second is about the submission alone; the third is about this
machine, is tried again, and never means 0 points.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.files.saving import save
from course_utils.grading.printable import printable

MAX_DETAILS, MAX_CHARS = 20, 500


@dataclass(frozen=True)
class Score:
    """One exercise: the outcome of its check, or "not graded", and why."""

    exercise: str
    title: str
    outcome: str
    points: int
    of: int
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scores:
    """All exercises of one lesson in order, and remarks about the notebook."""

    lesson: str
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        return sum(score.points for score in self.scores)

    @property
    def of(self) -> int:
        return sum(score.of for score in self.scores)


@dataclass(frozen=True)
class Grade:
    """The submission was graded."""

    scores: Scores

    kind = "grade"


@dataclass(frozen=True)
class CannotBeGraded:
    """The submission is at fault: what was seen, why that matters, what to do."""

    reason: str

    kind = "cannot be graded"


@dataclass(frozen=True)
class GraderFailed:
    """This machine is at fault; a later call tries again."""

    reason: str
    attempts: int = 1

    kind = "the grader failed"


Result = Grade | CannotBeGraded | GraderFailed


@dataclass(frozen=True)
class Record:
    """One submission and its result, as it is kept in its own file."""

    path: str  # below the folder that was graded, printable
    student: str  # the id
    name: str  # as people write it, where the platform tells
    digest: str  # of the file's bytes; "" when it could not be read
    course: str  # the version of the course that graded it
    result: Result

    def to_dict(self) -> dict:
        plain = {name: printable(getattr(self, name)) for name in ("path", "student", "name")}
        versions = {"digest": self.digest, "course": self.course}
        return plain | versions | {"result": to_dict(self.result)}

    def save(self, path: Path) -> None:
        """Write it to `path` atomically.

        Raises:
            NotSaved: the disk is full, or the folder cannot be written to.
        """
        save(path, f"{json.dumps(self.to_dict(), indent=1)}\n")


def to_dict(result: Result) -> dict:
    """A result as JSON-ready data, with every text made printable and cut."""
    if isinstance(result, Grade):
        scores = result.scores
        return {
            "kind": result.kind,
            "lesson": scores.lesson,
            "points": scores.points,
            "of": scores.of,
            "notes": _texts(scores.notes),
            "exercises": [
                asdict(score) | {"details": _texts(score.details)} for score in scores.scores
            ],
        }
    reason = printable(result.reason, max_chars=2000, keep="\n")
    attempts = {"attempts": result.attempts} if isinstance(result, GraderFailed) else {}
    return {"kind": result.kind, "reason": reason, **attempts}


def from_dict(data: dict) -> Result:
    """The result that `to_dict` turned into `data`.

    Raises:
        ValueError: it is not of that form.
    """
    try:
        if data["kind"] == GraderFailed.kind:
            return GraderFailed(_typed(data["reason"], str), _typed(data["attempts"], int))
        if data["kind"] == CannotBeGraded.kind:
            return CannotBeGraded(_typed(data["reason"], str))
        if data["kind"] != Grade.kind:
            raise ValueError(f"there is no result of kind {data['kind']!r}")
        scores = tuple(_score(entry) for entry in _typed(data["exercises"], list))
        notes = tuple(_typed(note, str) for note in _typed(data["notes"], list))
        return Grade(Scores(_typed(data["lesson"], str), scores, notes))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a result: {type(error).__name__}: {error}") from error


def load(path: Path) -> Record | None:
    """The record at `path`, or None if there is none that can be trusted."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        texts = [_typed(data[n], str) for n in ("path", "student", "name", "digest", "course")]
        return Record(*texts, from_dict(data["result"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _score(entry: dict) -> Score:
    kinds = {"exercise": str, "title": str, "outcome": str, "points": int, "of": int}
    values = {name: _typed(entry[name], kind) for name, kind in kinds.items()}
    if not 0 <= values["points"] <= values["of"]:
        raise ValueError(f"{values['points']} of {values['of']} points are none")
    details = tuple(_typed(text, str) for text in _typed(entry["details"], list))
    return Score(**values, details=details)


def _typed(value: object, kind: type):
    if type(value) is not kind:  # True is an int to isinstance
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value


def _texts(texts: tuple[str, ...]) -> list[str]:
    return [printable(text, max_chars=MAX_CHARS, keep="\n") for text in texts[:MAX_DETAILS]]
