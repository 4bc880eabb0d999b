"""What is graded, and what came of it: plain data that intake, box and results share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SubmittedCell:
    """One code cell of the merged notebook: the lesson's own, or the student's.

    Args:
        role: as in `notebook.lesson_source`; a cell that the student added has none.
        exercise: the id, for answer and check cells.
    """

    source: str
    id: str = ""
    role: str = ""
    exercise: str = ""


@dataclass(frozen=True)
class Score:
    """One exercise: the check's outcome or "not graded", its points, and what to tell the student.

    `unmet` are the sentences of the criteria that were not met; `details` say why otherwise.
    """

    exercise: str
    outcome: str
    points: int
    of: int
    unmet: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scores:
    """Every exercise of a lesson, in its order."""

    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        return sum(score.points for score in self.scores)
