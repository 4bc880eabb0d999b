"""Right and wrong answers of exercise 01.1."""

import math
from decimal import Decimal

import torch

from course_utils.exercises.lesson_01 import limits
from course_utils.exercises.lesson_01.limits import limits_from_bits
from tests.answers import answers_of

right, wrong = answers_of(limits.LIMITS)


@right
def limits_by_counting(exponent_bits, mantissa_bits):
    top = 2 ** (exponent_bits - 1)
    largest = sum(2.0 ** (top - 1 - k) for k in range(mantissa_bits + 1))
    return largest, 2.0**-mantissa_bits / 2.0 ** (top - 2), math.log(largest)


@wrong(caught_by=limits.largest_is_right)
def limits_as_power_of_two(exponent_bits, mantissa_bits):
    largest = 2.0 ** (2 ** (exponent_bits - 1))
    return largest, limits_from_bits(exponent_bits, mantissa_bits)[1], math.log(largest)


@wrong(caught_by=limits.largest_is_right)
def limits_with_reserved_exponent(exponent_bits, mantissa_bits):
    _, smallest, exp_limit = limits_from_bits(exponent_bits, mantissa_bits)
    return (2 - 2.0**-mantissa_bits) * 2.0 ** (2 ** (exponent_bits - 1)), smallest, exp_limit


@wrong(caught_by=limits.smallest_is_right)
def limits_with_smallest_normal(exponent_bits, mantissa_bits):
    largest, _, exp_limit = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, 2.0 ** (2 - 2 ** (exponent_bits - 1)), exp_limit


@wrong(caught_by=limits.exp_limit_is_right)
def limits_with_log2(exponent_bits, mantissa_bits):
    largest, smallest, _ = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest, math.log2(largest)


@wrong(caught_by=limits.exp_limit_is_right)
def limits_with_the_log_of_the_next_power(exponent_bits, mantissa_bits):
    largest, smallest, _ = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest, 2 ** (exponent_bits - 1) * math.log(2)


@wrong(caught_by=limits.exp_limit_is_right)
def limits_with_fixed_exp(exponent_bits, mantissa_bits):
    largest, smallest, _ = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest, 88.7


@wrong(caught_by=limits.largest_is_right)
def limits_from_a_table(exponent_bits, mantissa_bits):
    names = {(5, 10): torch.float16, (8, 7): torch.bfloat16, (5, 2): torch.float8_e5m2}
    known = torch.finfo(names.get((exponent_bits, mantissa_bits), torch.float32))
    return known.max, known.tiny * known.eps, math.log(known.max)


@wrong(caught_by=limits.largest_is_right)
def limits_without_inf(exponent_bits, mantissa_bits):
    bias = 2 ** (exponent_bits - 1) - 1
    largest = (2 - 2.0 ** (1 - mantissa_bits)) * 2.0 ** (bias + 1)
    return largest, 2.0 ** (1 - bias - mantissa_bits), math.log(largest)


@wrong(caught_by=limits.smallest_is_right)
def limits_with_eps(exponent_bits, mantissa_bits):
    largest, _, exp_limit = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, 2.0**-mantissa_bits, exp_limit


@wrong(caught_by=limits.smallest_is_right)
def limits_with_half_the_smallest(exponent_bits, mantissa_bits):
    largest, smallest, exp_limit = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest / 2, exp_limit


@wrong(caught_by=limits.exp_limit_is_right)
def limits_with_the_exponent(exponent_bits, mantissa_bits):
    largest, smallest, _ = limits_from_bits(exponent_bits, mantissa_bits)
    return largest, smallest, math.exp(1) ** exponent_bits


@wrong(caught_by=limits.gives_three_numbers)
def limits_as_two(exponent_bits, mantissa_bits):
    return limits_from_bits(exponent_bits, mantissa_bits)[:2]


@wrong(caught_by=limits.gives_three_numbers)
def limits_as_a_dict(exponent_bits, mantissa_bits):
    names = ("largest", "smallest", "exp")
    return dict(zip(names, limits_from_bits(exponent_bits, mantissa_bits), strict=True))


@wrong(caught_by=limits.gives_three_numbers)
def limits_as_text(exponent_bits, mantissa_bits):
    return [f"{number:g}" for number in limits_from_bits(exponent_bits, mantissa_bits)]


@right
def limits_as_a_list(exponent_bits, mantissa_bits):
    e_max = 2**exponent_bits - 2 - (2 ** (exponent_bits - 1) - 1)
    largest = math.ldexp(2**mantissa_bits * 2 - 1, e_max - mantissa_bits)
    return [
        largest,
        math.ldexp(1, 1 - e_max - mantissa_bits),
        math.log2(largest) / math.log2(math.e),
    ]


@right
def limits_as_tensors(exponent_bits, mantissa_bits):
    two = torch.tensor(2.0, dtype=torch.float64)
    bias = 2 ** (exponent_bits - 1) - 1
    largest = (two - two**-mantissa_bits) * two**bias
    return largest, two ** (1 - bias) * two**-mantissa_bits, largest.log()


@right
def limits_as_decimals(exponent_bits, mantissa_bits):
    return [Decimal(part) for part in limits_from_bits(exponent_bits, mantissa_bits)]


@wrong(caught_by=limits.gives_three_numbers)
def limits_as_numbers_in_a_tensor(exponent_bits, mantissa_bits):
    return [torch.full((2,), part) for part in limits_from_bits(exponent_bits, mantissa_bits)]
