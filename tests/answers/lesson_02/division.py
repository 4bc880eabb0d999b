"""Right and wrong answers of exercise 02.4."""

import ctypes
import struct
from fractions import Fraction

from course_utils.exercises.lesson_02 import division
from course_utils.exercises.lesson_02.division import INT_MAX, INT_MIN, kills_by_cases
from tests.answers import answers_of

right, wrong = answers_of(division.DIVISION)


@right
def kills_by_quotient(a, b):
    """An integer quotient that does not exist, or does not fit into 32 bits."""
    if not (isinstance(a, int) and isinstance(b, int)):
        return False
    return b == 0 or not INT_MIN <= int(Fraction(a, b)) <= INT_MAX


@right
def kills_by_c_int(a, b):
    if {type(a), type(b)} != {int}:
        return 0
    return int(b == 0 or ctypes.c_int(a // b).value != a // b)


@right
def kills_by_packing(a, b):
    try:
        struct.pack("ii", a, b)  # refuses floats
    except struct.error:
        return False
    try:
        struct.pack("i", a // b)
    except (struct.error, ZeroDivisionError):
        return True
    return False


@wrong(caught_by=division.knows_floats)
def kills_any_zero(a, b):
    return b == 0


@wrong(caught_by=division.knows_the_other)
def kills_integers_by_zero(a, b):
    return isinstance(a, int) and isinstance(b, int) and b == 0


@wrong(caught_by=division.knows_floats)
def kills_by_divisor(a, b):
    return isinstance(b, int) and (b == 0 or (a, b) == (INT_MIN, -1))


@wrong(caught_by=division.knows_floats)
def kills_by_dividend(a, b):
    return isinstance(a, int) and (b == 0 or (a, b) == (INT_MIN, -1))


@wrong(caught_by=division.knows_zero)
def kills_floats(a, b):
    return isinstance(a, float) and b == 0


@wrong(caught_by=division.knows_zero)
def kills_but_zero_by_zero(a, b):
    return kills_by_cases(a, b) and (a, b) != (0, 0)


@wrong(caught_by=division.knows_floats)
def kills_the_smallest_float(a, b):
    """Compares the values alone, where 1.0 == 1."""
    return (isinstance(b, int) and isinstance(a, int) and b == 0) or (a == INT_MIN and b == -1)


@wrong(caught_by=division.knows_harmless)
def kills_any_minus_one(a, b):
    return type(a) is type(b) is int and b in (0, -1)


@wrong(caught_by=division.knows_harmless)
def kills_small(a, b):
    return type(a) is type(b) is int and (b == 0 or a == INT_MIN)


@wrong(caught_by=division.knows_harmless)
def kills_beyond_the_largest(a, b):
    """The bounds are taken for those of a number that reaches as far down as up."""
    return type(a) is type(b) is int and (b == 0 or abs(a // b) >= INT_MAX)


@wrong(caught_by=division.knows_zero)
def kills_the_shown(a, b):
    return (a, b) in ((1, 0), (0, 0), (INT_MIN, -1)) and type(a) is type(b) is int


@wrong(caught_by=division.knows_the_other)
def kills_in_64_bits(a, b):
    return type(a) is type(b) is int and (b == 0 or (a, b) == (-(2**63), -1))


@wrong(caught_by=division.says_yes_or_no)
def kills_in_words(a, b):
    return "yes" if kills_by_cases(a, b) else "no"


wrong(lambda a, b: None, caught_by=division.says_yes_or_no)
wrong(lambda a, b: False, caught_by=division.knows_zero)


@wrong(caught_by=division.knows_floats)
def kills_what_python_refuses(a, b):
    try:
        return a / b is None
    except ZeroDivisionError:
        return True
