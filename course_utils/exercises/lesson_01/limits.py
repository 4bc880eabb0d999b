"""Exercise 01.1: where a format ends, from its bits alone."""

import math
from collections.abc import Callable

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise

# The formats of the lesson, and some that nobody has built: the rule knows no names.
BITS = ((5, 10), (8, 7), (8, 23), (5, 2), (4, 3), (6, 9), (7, 16), (3, 4), (9, 14), (10, 40))
BITS += ((3, 2), (4, 2), (2, 1), (2, 5), (4, 1))
NO_MANTISSA = (5, 0)
EXP_TOLERANCE = 0.01


def _bias(exponent_bits: int) -> int:
    return 2 ** (exponent_bits - 1) - 1


def _largest(exponent_bits: int, mantissa_bits: int) -> float:
    """By the definition: the last exponent but one, every mantissa bit set."""
    exponent = 2**exponent_bits - 2 - _bias(exponent_bits)
    return sum(2.0 ** (exponent - k) for k in range(mantissa_bits + 1))


def _smallest(exponent_bits: int, mantissa_bits: int) -> float:
    return 2.0 ** (1 - _bias(exponent_bits) - mantissa_bits)


def _is_one_number(part: object) -> bool:
    if isinstance(part, (bool, str)):
        return False
    try:
        float(part)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def gives_three_numbers(limits) -> str | None:
    got = limits(5, 10)
    kind = f"a {type(got).__name__}"
    if not isinstance(got, (tuple, list)):
        return f"it returns {kind}, where three numbers are asked: return largest, smallest, x"
    if len(got) != 3:
        return f"it returns {kind} of {len(got)}, where three numbers are asked"
    for part in got:
        if not _is_one_number(part):
            return f"it returns {kind} with {part!r} in it, where three numbers are asked"
    return None


def _each(limits, formats=BITS):
    for bits in formats:
        yield (
            bits,
            [float(part) for part in limits(*bits)],
            f"{bits[0]} exponent and {bits[1]} mantissa bits",
        )


def largest_is_right(limits) -> str | None:
    for bits, got, given in _each(limits, (*BITS, NO_MANTISSA)):
        if seen := number_differs(got[0], _largest(*bits), rtol=1e-9, given=given):
            return seen
    return None


def smallest_is_right(limits) -> str | None:
    for bits, got, given in _each(limits):
        if seen := number_differs(got[1], _smallest(*bits), rtol=1e-9, given=given):
            return seen
    return None


def exp_limit_is_right(limits) -> str | None:
    for bits, got, given in _each(limits):
        want = math.log(_largest(*bits))
        if seen := number_differs(got[2], want, rtol=EXP_TOLERANCE, given=given):
            return seen
    return None


def limits_from_bits(exponent_bits, mantissa_bits):
    bias = 2 ** (exponent_bits - 1) - 1
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return largest, 2.0 ** (1 - bias - mantissa_bits), math.log(largest)


LIMITS = Exercise(
    id="01.1",
    name="LIMITS",
    title="Where a format ends",
    minutes=5,
    difficulty="three lines",
    points=3,
    reads="limits",
    expects=(Callable,),
    hints=(
        "What is the largest stored exponent that is not reserved for inf and nan?",
        "The largest number has that exponent, 2^E - 2 minus the bias, and every mantissa bit set: "
        "how much below 2 is that mantissa?",
        "The largest is (2 - 2^-M) times a power of two; the smallest has stored exponent 0 and "
        "mantissa 2^-M; and exp(x) is the largest where x is what?",
    ),
    form=gives_three_numbers,
    criteria=(
        Criterion(
            "The largest number is right, for any numbers of bits.",
            largest_is_right,
            why="one step beyond it is inf: 65504 holds, 65520 does not",
            next="check by hand: 5 exponent bits and 10 mantissa bits must give 65504",
        ),
        Criterion(
            "The smallest number is a subnormal one.",
            smallest_is_right,
            why="with M mantissa bits, 2^M - 1 more lie between the smallest normal number and 0",
            next="stored exponent 0 has no leading 1: its smallest mantissa is 2^-M",
        ),
        Criterion(
            "exp is finite up to the third number, within one percent.",
            exp_limit_is_right,
            why="every loss with an exp in it inherits this limit on its input",
            next="for which x is exp(x) equal to the largest number?",
        ),
    ),
    answer=limits_from_bits,
)
