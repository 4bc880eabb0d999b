"""Right and wrong answers of every exercise, in the files that its own module's path names.

`tests/answers/lesson_04/kl.py` holds those of `course_utils/exercises/lesson_04/kl.py`, beside the
one right answer that the exercise itself has. To add one, write it there under `@right`, or under
`@wrong(caught_by=look)` with the look that must reject it first: the `observe` of a criterion, the
exercise's `form`, or `checking.leaves_its_inputs_alone`. `make test` tries the first that is listed
for a criterion: let it be the one that is nearest to a right answer. What is not a function is
handed over: `wrong({"lr": 1.0}, caught_by=look)`. An exercise in variants has a pair of these for
each.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from course_utils.checks.declare import Exercise, Observe

HERE = Path(__file__).parent
_OF: dict[tuple[str, str], "Answers"] = {}


@dataclass(frozen=True)
class Wrong:
    """An answer people do give, and what must reject it first: later criteria may reject it too."""

    answer: object
    caught_by: Observe


@dataclass
class Answers:
    """The answers of one variant of an exercise; unpacked, how each kind is added."""

    exercise: Exercise
    all_right: list[object] = field(default_factory=list)
    all_wrong: list[Wrong] = field(default_factory=list)

    def __iter__(self) -> Iterator:
        return iter((self.right, self.wrong))

    def right(self, answer: object) -> object:
        self.all_right.append(answer)
        return answer

    def wrong(self, *answer: object, caught_by: Observe) -> object:
        if not answer:
            return partial(self.wrong, caught_by=caught_by)
        self.all_wrong.append(Wrong(*answer, caught_by))
        return answer[0]


def answers_of(exercise: Exercise, kind: type[Answers] = Answers) -> Answers:
    """What a module here adds its answers to."""
    answers = _OF[exercise.id, exercise.title] = kind(exercise, [exercise.answer])
    return answers


def right_answers(exercise: Exercise) -> list[object]:
    """All right answers, the exercise's own first."""
    return _found(exercise).all_right


def wrong_answers(exercise: Exercise) -> list[Wrong]:
    return _found(exercise).all_wrong


def modules_of(lesson: str) -> list[Path]:
    return sorted([*HERE.glob(f"{lesson}.py"), *HERE.glob(f"{lesson}/*.py")])


def _found(exercise: Exercise) -> Answers:
    _load(f"lesson_{exercise.id.partition('.')[0]}")
    return _OF.get((exercise.id, exercise.title), Answers(exercise))


@cache
def _load(lesson: str) -> None:
    for path in modules_of(lesson):
        parts = path.relative_to(HERE).with_suffix("").parts
        importlib.import_module(".".join((__name__, *parts)))
