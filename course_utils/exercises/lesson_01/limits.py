"""Exercise 01.1: where a format ends, from its bits alone."""

import math
from collections.abc import Callable

import torch

from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

BITS = {
    torch.float16: (5, 10),
    torch.bfloat16: (8, 7),
    torch.float32: (8, 23),
    torch.float8_e5m2: (5, 2),
}
EXP_TOLERANCE = 0.01  # log(max) and the last x that still rounds to max differ by up to 0.7%


def last_finite_exp(dtype: torch.dtype) -> float:
    """The largest x for which exp(x), cast to `dtype`, is finite: found by asking torch."""
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        value = torch.tensor(middle, dtype=torch.float64).exp().to(dtype)
        low, high = (middle, high) if math.isfinite(value.item()) else (low, middle)
    return low


def _compare(limits, part: int, want: Callable[[torch.dtype], float], rtol: float) -> str | None:
    for dtype, bits in BITS.items():
        got = limits(*bits)
        if not isinstance(got, (tuple, list)) or len(got) != 3:
            return f"it gives {got!r}, where three numbers are asked"
        given = f"{bits[0]} exponent and {bits[1]} mantissa bits"
        if seen := number_differs(got[part], want(dtype), rtol=rtol, given=given):
            return seen
    return None


def largest_is_right(limits) -> str | None:
    return _compare(limits, 0, lambda dtype: torch.finfo(dtype).max, 1e-9)


def smallest_is_right(limits) -> str | None:
    def smallest_subnormal(dtype: torch.dtype) -> float:
        return torch.finfo(dtype).tiny * torch.finfo(dtype).eps

    return _compare(limits, 1, smallest_subnormal, 1e-9)


def exp_limit_is_right(limits) -> str | None:
    return _compare(limits, 2, last_finite_exp, EXP_TOLERANCE)


def limits_from_bits(exponent_bits, mantissa_bits):
    bias = 2 ** (exponent_bits - 1) - 1
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return largest, 2.0 ** (1 - bias - mantissa_bits), math.log(largest)


def limits_by_counting(exponent_bits, mantissa_bits):
    top = 2 ** (exponent_bits - 1)
    largest = sum(2.0 ** (top - 1 - k) for k in range(mantissa_bits + 1))
    return largest, 2.0**-mantissa_bits / 2.0 ** (top - 2), top * math.log(2)


def limits_as_power_of_two(exponent_bits, mantissa_bits):
    largest = 2.0 ** (2 ** (exponent_bits - 1))
    return largest, limits_from_bits(exponent_bits, mantissa_bits)[1], math.log(largest)


def limits_with_reserved_exponent(exponent_bits, mantissa_bits):
    _, smallest, exp_limit = limits_from_bits(exponent_bits, mantissa_bits)
    return (2 - 2.0**-mantissa_bits) * 2.0 ** (2 ** (exponent_bits - 1)), smallest, exp_limit


def limits_with_smallest_normal(exponent_bits, mantissa_bits):
    largest, _, exp_limit = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, 2.0 ** (2 - 2 ** (exponent_bits - 1)), exp_limit


def limits_with_log2(exponent_bits, mantissa_bits):
    largest, smallest, _ = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest, math.log2(largest)


def limits_with_fixed_exp(exponent_bits, mantissa_bits):
    largest, smallest, _ = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest, 88.7


LIMITS = Exercise(
    id="01.1",
    name="LIMITS",
    title="Where a format ends",
    minutes=6,
    difficulty="three lines",
    points=3,
    reads="limits",
    expects=(Callable,),
    hints=(
        "What is the largest stored exponent that is not kept for inf and nan?",
        "The largest number has that exponent, 2^E - 2 minus the bias, and every mantissa bit set.",
        "largest = (2 - 2**-M) * 2**bias; smallest = 2**(1 - bias - M); exp reaches the largest "
        "where x is its natural logarithm.",
    ),
    criteria=(
        Criterion(
            "The largest number is that of torch.finfo.",
            largest_is_right,
            why="one step beyond it is inf: 65504 holds, 65520 does not",
            next="check by hand: 5 exponent bits and 10 mantissa bits must give 65504",
        ),
        Criterion(
            "The smallest number counts the subnormal ones.",
            smallest_is_right,
            why="between the smallest normal number and 0 there are 2^M - 1 more",
            next="stored exponent 0 has no leading 1: its smallest mantissa is 2^-M",
        ),
        Criterion(
            "exp is finite up to the third number, within one percent.",
            exp_limit_is_right,
            why="every loss with an exp in it inherits this limit on its input",
            next="for which x is exp(x) equal to the largest number?",
        ),
    ),
    right=(limits_from_bits, limits_by_counting),
    wrong=(
        Wrong(limits_as_power_of_two, caught_by=largest_is_right),
        Wrong(limits_with_reserved_exponent, caught_by=largest_is_right),
        Wrong(limits_with_smallest_normal, caught_by=smallest_is_right),
        Wrong(limits_with_log2, caught_by=exp_limit_is_right),
        Wrong(limits_with_fixed_exp, caught_by=exp_limit_is_right),
    ),
)
