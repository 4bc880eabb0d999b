"""One trick, handed in for every function that is asked for, earns no point anywhere.

`make test` asks each lesson's first function whose check does not train, `make prove` all.
"""

import pytest
import torch
from by_lesson import lessons
from whole import cases

from course_utils.checks import checking
from course_utils.checks.declare import Exercise
from course_utils.checks.report import Outcome


class Equal:
    """Says that it is whatever it is compared with."""

    __hash__ = None

    def __eq__(self, other):
        return True


def zeroed(value):
    """`value`, emptied or set to zero in its place where that can be done."""
    if isinstance(value, torch.Tensor):
        value.data.zero_()
    elif isinstance(value, torch.nn.Module):
        for weight in value.parameters():
            weight.data.zero_()
    elif isinstance(value, list | dict):
        value.clear()
    return value


def first(args, kwargs):
    return [*args, *kwargs.values(), None][0]


def zeroes_its_arguments(*args, **kwargs):
    for value in (*args, *kwargs.values()):
        zeroed(value)


def zeroes_and_returns_them(*args, **kwargs):
    zeroes_its_arguments(*args, **kwargs)
    return first(args, kwargs)


def returns_its_first_argument(*args, **kwargs):
    return first(args, kwargs)


def returns_its_last_argument(*args, **kwargs):
    return [None, *args, *kwargs.values()][-1]


def returns_not_implemented(*args, **kwargs):
    return NotImplemented


def returns_itself(*args, **kwargs):
    return returns_itself


def returns_what_equals_all(*args, **kwargs):
    return Equal()


def returns_a_zero_that_learns(*args, **kwargs):
    return torch.zeros((), requires_grad=True)


TRICKS = (
    zeroes_its_arguments,
    zeroes_and_returns_them,
    returns_its_first_argument,
    returns_its_last_argument,
    returns_not_implemented,
    returns_itself,
    returns_what_equals_all,
    returns_a_zero_that_learns,
)


def trains(exercise: Exercise) -> bool:
    return exercise.time_limit_s > Exercise.time_limit_s


ASKED = [v for lesson in lessons() for e in lesson.exercises for v in e.variants]
ASKED = sorted((one for one in ASKED if callable(one.answer)), key=trains)
PAIRS = [(exercise, trick) for exercise in ASKED for trick in TRICKS]


@pytest.mark.parametrize(
    ("exercise", "trick"),
    cases(PAIRS, kind=lambda pair: (pair[0].id[:2], pair[1])),
    ids=lambda one: one.id if isinstance(one, Exercise) else one.__name__,
)
def test_it_earns_no_point(exercise, trick):
    report = checking.check(exercise, trick, until_unmet=True)
    assert report.outcome is not Outcome.PASSED, report.text()
