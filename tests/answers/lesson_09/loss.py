"""Right and wrong answers of exercise 09.4."""

from course_utils.exercises.lesson_09 import loss
from course_utils.exercises.lesson_09.loss import DUE, LOOKS
from tests.answers import answers_of

right, wrong = answers_of(loss.LOSS)


def _off(key: str, value: object) -> None:
    wrong(DUE | {key: value}, caught_by=LOOKS[key])


right({"grpo": 0, "dapo": 1 / 4, "slope": -0.1875, "clipped": 0})
right({key: round(value, 3) for key, value in DUE.items()})
wrong({}, caught_by=loss.has_four_numbers)
wrong({"grpo": 0.0}, caught_by=loss.has_four_numbers)
wrong(DUE | {"grpo": "0"}, caught_by=loss.has_four_numbers)
wrong(DUE | {"dapo": None}, caught_by=loss.has_four_numbers)
_off("grpo", 0.25)
_off("grpo", -1.5)
_off("dapo", 0.0)
_off("dapo", -0.25)
_off("dapo", 4.0)
_off("slope", 0.0)
_off("slope", -1.5)
_off("slope", 0.1875)
_off("slope", -1.5 / 16)
_off("slope", -0.75)
_off("clipped", 1.0)
_off("clipped", 0.2)
