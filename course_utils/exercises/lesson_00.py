"""Lesson 00: one toy exercise that shows how a check answers."""

from collections.abc import Callable

import torch

from course_utils.checks.compare import told_apart
from course_utils.checks.declare import Criterion, Exercise, Lesson, Prediction
from course_utils.checks.probes import agrees, has_form

HALF = torch.float16
LARGEST = torch.finfo(HALF).max

# A mean takes two roundings at most: half a gap each, relative to the value.
ROUNDING = {HALF: 1.5e-3, torch.bfloat16: 1.2e-2, torch.float32: 1e-6, torch.float64: 1e-6}


def _every_half() -> torch.Tensor:
    """Every finite float16, both zeros included."""
    bits = torch.arange(2**16, dtype=torch.int32).to(torch.int16)
    halves = bits.view(HALF)
    return halves[halves.isfinite()]


def _ordinary_pair(generator, shape, dtype):
    """Two tensors of numbers between 0.5 and 8.5."""
    return tuple((8 * torch.rand(shape, generator=generator) + 0.5).to(dtype) for _ in range(2))


keeps_dtype_and_shape = has_form(_ordinary_pair)
ordinary_mean = agrees(lambda a, b: (a + b) / 2, _ordinary_pair, rounding=ROUNDING)


def _means_differ(mean_of, a, b, given: str, allowed: float = 2.0**-24) -> str | None:
    """The first mean that is wrong by more than a rounding and `allowed`."""
    got, want = mean_of(a, b).double(), (a.double() + b.double()) / 2
    wrong = ~((got - want).abs() <= ROUNDING[HALF] * want.abs() + allowed)
    if not wrong.any():
        return None
    at = int(wrong.nonzero()[0])
    mine, right = told_apart(got[at].item(), want[at].item())
    pair = f"{a[at].item():g} and {b[at].item():g}"
    return f"for {given} the mean of {pair} is {mine}, it should be {right}"


def large_numbers(mean_of) -> str | None:
    one = torch.tensor([60000.0, LARGEST, -60000.0, 65472.0, 2.0], dtype=HALF)
    other = torch.tensor([40032.0, LARGEST, -65504.0, 33000.0, 4.0], dtype=HALF)
    return _means_differ(mean_of, one, other, "float16")


def opposite_signs(mean_of) -> str | None:
    halves = _every_half()
    order = torch.randperm(len(halves), generator=torch.Generator().manual_seed(5))
    one, other = halves.abs(), -halves[order].abs()
    first = torch.tensor([LARGEST, 60000.0], dtype=HALF)
    one, other = torch.cat([first, one]), torch.cat([-first, other])
    return _means_differ(mean_of, one, other, "float16")


def equal_and_tiny_numbers(mean_of) -> str | None:
    halves = _every_half()
    got = mean_of(halves, halves.clone())
    if torch.equal(got, halves):
        return _tiny_numbers(mean_of)
    at = int((got != halves).nonzero()[0])
    mine, right = told_apart(got[at].item(), halves[at].item())
    return f"the mean of {right} and itself is {mine}"


def _tiny_numbers(mean_of) -> str | None:
    """Means of a few times the smallest float16: half of it is all that rounding may cost."""
    counts = torch.arange(1.0, 33.0, dtype=torch.float64)
    pairs = torch.cartesian_prod(counts, counts) * 2.0**-24
    one, other = pairs.to(HALF).unbind(-1)
    return _means_differ(mean_of, one, other, "float16", allowed=2.0**-25)


def computes_in_float64(a, b):
    return ((a.double() + b.double()) / 2).to(a.dtype)


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
        "The sum leaves the format before the division can bring it back. If you halve first, you "
        "lose the smallest numbers instead. Which format has room for both?",
        "Take the mean in float32. What is left to do so that the result has the dtype of a?",
    ),
    form=keeps_dtype_and_shape,
    criteria=(
        Criterion(
            "Ordinary numbers get their ordinary mean.",
            ordinary_mean,
            why="a safe formula must still be the same formula, to the last digit of the format",
            next="work out the mean of 1 and 3 by hand and compare",
        ),
        Criterion(
            "Large float16 numbers of one sign get their mean.",
            large_numbers,
            why="float16 ends at 65504; a larger number in between becomes inf or is cut off",
            next="sum in a format that has room for it, and change no result afterwards",
        ),
        Criterion(
            "float16 numbers of opposite sign work as well.",
            opposite_signs,
            why="in float16, b - a can leave the range, and a step in between can lose digits",
            next="a wider format has room for sums and differences alike",
        ),
        Criterion(
            "Two equal float16 numbers are their own mean, and the smallest numbers get theirs.",
            equal_and_tiny_numbers,
            why="half of the smallest float16, 6e-8, rounds to 0; the largest is 65504",
            next="do not halve a number while it is still in float16",
        ),
    ),
    answer=computes_in_float64,
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
    minutes=15,
    exercises=(MEAN,),
    predictions=(FIRST,),
)
