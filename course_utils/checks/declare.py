"""Declares exercises: data, and one small function for each criterion.

Nothing here runs an answer or shows a result; `course_utils.checks.checking` does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

# Takes the answer (or what `Exercise.run` made of it); returns what was seen, or None when all is
# well. A raise means that the student's own code raised.
Observe = Callable[[object], str | None]
NOT_TESTED = "not tested"


def not_tested(because: str) -> str:
    """What is seen of a criterion that was not reached; the report marks it as open.

    >>> not_tested("the call raised")
    'not tested, because the call raised'
    """
    return f"{NOT_TESTED}, because {because}"


class Todo:
    """The type of `TODO`, which stands for a missing answer."""

    def __repr__(self) -> str:
        return "TODO"


TODO = Todo()


PARTS = ("core", "deeper look")


@dataclass(frozen=True)
class Criterion:
    """One sentence that is true of every right answer, and the function that checks it."""

    says: str
    observe: Observe
    why: str  # why it matters numerically
    next: str  # the next thing to try


@dataclass(frozen=True)
class Exercise:
    """One exercise. Everything else (progress, tables, tests) is derived from this.

    Args:
        id: lesson and number, "03.1". Progress files and grades use it.
        name: the attribute students type: `ex.DECODE`.
        reads: the name of the variable or function that the student's cell defines.
        expects: the types an answer may have; `callable` functions are given as `Callable`.
        hints: from a question, to the cause, to one step short of the answer.
        criteria: all are run, so that the student sees all of what is right.
        answer: a right answer, which `.solution()` shows and later cells use while the student
            has none. The lesson's own solution is written differently.
        form: looks at the answer before anything else. What it says is all the student reads, so
            it speaks of the form alone: "a list is asked, this is a dict".
        run: what is done with the answer once, before the criteria (a training run, say);
            they then observe its result instead of the answer.
        may_change: positions of the arguments that the answer is asked to change. Every other
            argument must be left as it was; `checking` looks.
        case: makes what `ex.NAME.draw(seed)` hands to the reader, such as a broken run.
        warm: an answer that a grader tries before the first submission, where `answer`
            takes too long for that.
        also: further variants, with the same id, name and form of answer, on other cases.
        time_limit_s: seconds of processor time after which the check stops the answer.
        asks_apart: the criteria ask different things, so each that is not met gets its advice.
            Else only the first does: those below it may fail for the same reason.
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
    answer: object
    form: Observe | None = None
    run: Callable[[object], object] | None = None
    may_change: tuple[int, ...] = ()
    case: Callable[[], object] | None = None
    warm: object = None
    also: tuple["Exercise", ...] = ()
    time_limit_s: float = 10.0
    asks_apart: bool = False

    @property
    def variants(self) -> tuple["Exercise", ...]:
        return (self, *self.also)

    def variant(self, seed: int) -> "Exercise":
        """The variant that `seed` draws."""
        return self.variants[seed % len(self.variants)]


@dataclass(frozen=True)
class Prediction:
    """A question answered before the cell that answers it; stored, shown back, never graded."""

    id: str
    name: str
    question: str
    choices: dict[str, str]


@dataclass(frozen=True)
class Entry:
    """One lesson as the map of the course shows it."""

    stem: str
    title: str
    minutes: int  # of its core
    builds_on: tuple[str, ...] = ()  # numbers of lessons
    deeper_minutes: int = 0

    @property
    def number(self) -> str:
        return self.stem[:2]

    @property
    def effort(self) -> str:
        """Minutes, those of the deeper looks apart.

        >>> Entry("07_never_stops", "", 60, deeper_minutes=45).effort
        '60 minutes (and 45 of deeper looks)'
        """
        deeper = f" (and {self.deeper_minutes} of deeper looks)" if self.deeper_minutes else ""
        return f"{self.minutes} minutes{deeper}"


@dataclass(frozen=True)
class Lesson:
    """One lesson: its file stem, its title, its exercises.

    `topic` names the claims that it judges, a key of `lesson.claims.CLAIMS`; `builds_on` the
    numbers of the lessons whose ideas it uses, for the map of the course. `minutes` are those of
    its core; `deeper` holds the ids of the exercises that stand in its deeper looks, which a
    reader may skip, and `deeper_minutes` what these take.
    """

    stem: str
    title: str
    minutes: int
    exercises: tuple[Exercise, ...]
    predictions: tuple[Prediction, ...] = field(default=())
    topic: str = ""
    builds_on: tuple[str, ...] = ()
    deeper: tuple[str, ...] = ()
    deeper_minutes: int = 0

    @property
    def number(self) -> str:
        return self.stem[:2]

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)

    def part(self, exercise_id: str) -> str:
        """In which of the lesson's `PARTS` an exercise stands."""
        return PARTS[exercise_id in self.deeper]


def total_of(scores: Iterable[tuple[str, int, int]]) -> str:
    """Points of core and deeper looks, from each exercise's part, points and most points.

    >>> total_of([("core", 3, 4), ("core", 2, 2)])
    '5 of 6 points'
    >>> total_of([("core", 3, 4), ("deeper look", 0, 5)])
    '3 of 9 points: core 3 of 4, deeper look 0 of 5'
    """
    scores = list(scores)
    sums = {
        part: [sum(one[n] for one in scores if one[0] == part) for n in (1, 2)] for part in PARTS
    }
    earned, of = (sum(column) for column in zip(*sums.values(), strict=True))
    parts = [f"{part} {mine} of {most}" for part, (mine, most) in sums.items() if most]
    return f"{earned} of {of} points" + (f": {', '.join(parts)}" if len(parts) > 1 else "")
