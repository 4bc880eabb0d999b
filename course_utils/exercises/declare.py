"""What an exercise is: data, and one small function for each thing that must be true.

Nothing here runs an answer or shows a result; `course_utils.checking` does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

MIN_HINTS, MIN_WRONG = 2, 4


class Todo:
    """The type of `TODO`, which stands where an answer is still missing."""

    def __repr__(self) -> str:
        return "TODO"


TODO = Todo()


@dataclass(frozen=True)
class Criterion:
    """One sentence that is true of every right answer, and the function that looks.

    `observe` takes the answer (or what `Exercise.run` made of it) and returns None when the
    sentence holds, else what was seen. A raise means that the student's own code raised.
    """

    says: str
    observe: Callable[[object], str | None]
    why: str  # why it matters numerically
    next: str  # the next thing to try


@dataclass(frozen=True)
class Wrong:
    """An answer people do give, and the criterion that must reject it, and no other."""

    answer: object
    caught_by: Callable[[object], str | None]


@dataclass(frozen=True)
class Exercise:
    """One exercise. Everything else (progress, tables, tests) is derived from this.

    Args:
        id: lesson and number, "03.1". Progress files and grades use it.
        name: the attribute students type: `ex.DECODE`.
        reads: the name of the variable or function that the student's cell defines.
        expects: the types an answer may have; `callable` functions are given as `Callable`.
        hints: from a question, to the cause, to nearly the answer.
        criteria: all are run, so that the student sees all of what is right.
        right: right answers; the first is shown by `.solution()` and used by later cells
            while the student has none. The lesson's own solution is written differently.
        wrong: at least four wrong answers, each with the criterion meant for it.
        run: what is done with the answer once, before the criteria (a training run, say);
            they then observe its result instead of the answer.
        time_limit_s: seconds after which the check stops the answer.
    """

    id: str
    name: str
    title: str
    minutes: int
    difficulty: str
    points: int
    reads: str
    expects: tuple[type, ...]
    hints: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    right: tuple[object, ...]
    wrong: tuple[Wrong, ...]
    run: Callable[[object], object] | None = None
    time_limit_s: float = 10.0

    @property
    def trains(self) -> bool:
        return self.run is not None


@dataclass(frozen=True)
class Prediction:
    """A question answered before the cell that answers it; stored, shown back, never graded."""

    id: str
    name: str
    question: str
    choices: dict[str, str]


@dataclass(frozen=True)
class Lesson:
    """One lesson: its file stem, its title, and what it asks."""

    stem: str
    title: str
    minutes: int
    exercises: tuple[Exercise, ...]
    predictions: tuple[Prediction, ...] = field(default=())

    @property
    def number(self) -> str:
        return self.stem[:2]

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)
