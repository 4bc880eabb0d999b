"""Lesson 00: one toy exercise that shows how a check answers."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Lesson, Prediction, Wrong


def _pair(a: float, b: float, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([a], dtype=dtype), torch.tensor([b], dtype=dtype)


def ordinary_mean(mean_of) -> str | None:
    for a, b in [(1.0, 3.0), (-8.0, 2.0), (0.5, 0.25)]:
        want = torch.tensor([(a + b) / 2])
        seen = tensor_differs(
            mean_of(*_pair(a, b, torch.float32)).float(), want, rtol=1e-6, given=f"{a} and {b}"
        )
        if seen:
            return seen
    return None


def large_mean_is_finite(mean_of) -> str | None:
    mean = mean_of(*_pair(60000.0, 40032.0, torch.float16)).float()
    return tensor_differs(
        mean, torch.tensor([50016.0]), rtol=1e-3, given="60000 and 40032 in float16"
    )


def opposite_signs(mean_of) -> str | None:
    mean = mean_of(*_pair(60000.0, -60000.0, torch.float16)).float()
    return tensor_differs(mean, torch.tensor([0.0]), rtol=1e-3, given="60000 and -60000 in float16")


def smallest_number(mean_of) -> str | None:
    tiny = 2.0**-24
    mean = mean_of(*_pair(tiny, tiny, torch.float16)).float()
    return tensor_differs(mean, torch.tensor([tiny]), rtol=1e-3, given="6e-8 twice in float16")


def keeps_dtype(mean_of) -> str | None:
    got = mean_of(*_pair(1.0, 3.0, torch.float16)).dtype
    return None if got == torch.float16 else f"two float16 tensors gave {got}"


def adds_then_halves(a, b):
    return (a + b) / 2


def walks_from_a_to_b(a, b):
    return a + (b - a) / 2


def forgets_b(a, b):
    return a / 2


def goes_to_float32_and_stays(a, b):
    return (a.float() + b.float()) / 2


def halves_first(a, b):
    return a / 2 + b / 2


def computes_in_float64(a, b):
    return ((a.double() + b.double()) / 2).to(a.dtype)


def chooses_by_sign(a, b):
    return torch.where(a.sign() == b.sign(), a + (b - a) / 2, (a + b) / 2)


MEAN = Exercise(
    id="00.1",
    name="MEAN",
    title="A mean that stays in range",
    minutes=3,
    difficulty="one line",
    points=2,
    reads="mean_of",
    expects=(Callable,),
    hints=(
        "What is the largest number that float16 can hold, and what is 60000 + 40032?",
        "The sum leaves the format before the division brings it back; halving first loses the "
        "smallest numbers instead. Which format has room for both?",
        "Go to float32, take the mean there, and come back with .to(a.dtype).",
    ),
    criteria=(
        Criterion(
            "Ordinary numbers get their ordinary mean.",
            ordinary_mean,
            why="a safe formula must still be the same formula",
            next="work out the mean of 1 and 3 by hand and compare",
        ),
        Criterion(
            "The mean of two large float16 numbers is finite.",
            large_mean_is_finite,
            why="60000 + 40032 is above 65504, the largest float16, so the sum is inf",
            next="look for a place where the sum has room",
        ),
        Criterion(
            "Large numbers of opposite sign work as well.",
            opposite_signs,
            why="b - a leaves the range as easily as a + b does",
            next="a wider format has room for sums and differences alike",
        ),
        Criterion(
            "The smallest number of the format is its own mean.",
            smallest_number,
            why="half of the smallest float16, 6e-8, rounds to 0",
            next="do not halve a number before it has somewhere to go",
        ),
        Criterion(
            "The result has the dtype of the inputs.",
            keeps_dtype,
            why="a silent float32 doubles the memory and hides the range you will meet later",
            next="end with .to(a.dtype)",
        ),
    ),
    right=(computes_in_float64, chooses_by_sign),
    wrong=(
        Wrong(adds_then_halves, caught_by=large_mean_is_finite),
        Wrong(halves_first, caught_by=smallest_number),
        Wrong(walks_from_a_to_b, caught_by=opposite_signs),
        Wrong(goes_to_float32_and_stays, caught_by=keeps_dtype),
        Wrong(forgets_b, caught_by=ordinary_mean),
    ),
)

FIRST = Prediction(
    id="00.a",
    name="SUM_IN_HALF",
    question="In float16, what is 60000 + 40032?",
    choices={"a": "100032", "b": "65504", "c": "inf", "d": "nan"},
)

LESSON = Lesson(
    stem="00_start_here",
    title="Start here",
    minutes=10,
    exercises=(MEAN,),
    predictions=(FIRST,),
)
