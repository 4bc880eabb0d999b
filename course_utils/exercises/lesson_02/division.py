"""Exercise 02.4: which divisions end a process on x86-64."""

import random
from collections.abc import Callable
from numbers import Number

from course_utils.checks.declare import Criterion, Exercise

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
NAN, INF = float("nan"), float("inf")

# Source: Intel SDM, volume 2A, IDIV: #DE when the divisor is 0 or the quotient does not fit; IEEE
# 754-2019, section 7: float faults set a flag and deliver a default result unless trapped.
# tests/reproductions/test_lesson_02_grpo.py makes every integer division of these in a child.
DRAWN = random.Random(11)
SOME = tuple(DRAWN.randint(INT_MIN, INT_MAX) for _ in range(12))
BY_ZERO = tuple((a, 0) for a in (1, 0, INT_MIN, INT_MAX, -1, -7, *SOME))
HARMLESS = (
    *((7, 2), (0, 5), (-7, -1), (1, -1), (0, -1), (INT_MAX, -1), (INT_MIN, 1), (INT_MIN, 2)),
    *((INT_MIN + 1, -1), (INT_MIN, INT_MIN), (INT_MIN, -2), (INT_MIN, INT_MAX), (-1, INT_MIN)),
    *((a, -1) for a in SOME),
    *zip(SOME, reversed(SOME), strict=True),
)
TOO_LARGE = ((INT_MIN, -1),)
FLOATS = (
    *((1.0, 0.0), (0.0, 0.0), (NAN, 0.0), (INF, 0.0), (1.0, -0.0), (1e308, 1e-308), (INF, INF)),
    *((float(INT_MIN), -1.0), (5e-324, 2.0), (-1e308, 1e-10), (NAN, 1.0), (1.0, NAN)),
)
# C divides an int by a double as two doubles; 1.0 == 1, so these are no keys of one dict.
MIXED = (
    *((1.0, 0), (INF, 0), (NAN, 0), (0.0, 0), (float(INT_MIN), -1), (float(INT_MIN), 0)),
    *((1, 0.0), (0, 0.0), (0, -0.0), (INT_MIN, -1.0), (INT_MIN, 0.0), (7, NAN), (SOME[0], 0.0)),
)


def says_yes_or_no(kills) -> str | None:
    got = kills(7, 2)
    if isinstance(got, (bool, Number)) or type(got).__name__ in ("bool", "bool_", "Tensor"):
        return None
    return f"for 7 / 2 it gives {got!r}, a {type(got).__name__}; True or False is asked"


def first_other_fate(kills, divisions: tuple[tuple, ...], *, ends: bool) -> str | None:
    """The first division for which `kills` does not say what the processor does."""
    for a, b in divisions:
        got = kills(a, b)
        if bool(got) != ends:
            truth = "ends the process" if ends else "lives"
            kinds = f"{type(a).__name__} by {type(b).__name__}"
            return f"for {a!r} / {b!r} ({kinds}) it gives {got!r}; the division {truth}"
    return None


def knows_zero(kills) -> str | None:
    return first_other_fate(kills, BY_ZERO, ends=True)


def knows_harmless(kills) -> str | None:
    return first_other_fate(kills, HARMLESS, ends=False)


def knows_floats(kills) -> str | None:
    return first_other_fate(kills, FLOATS + MIXED, ends=False)


def knows_the_other(kills) -> str | None:
    if first_other_fate(kills, TOO_LARGE, ends=True) is None:
        return None
    return "of all pairs with b other than 0 one more ends the process, and it gives False for it"


def kills_by_cases(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return False
    return b == 0 or (a, b) == (INT_MIN, -1)


DIVISION = Exercise(
    id="02.4",
    name="DIVISION",
    title="Which divisions kill?",
    minutes=5,
    difficulty="one expression",
    points=2,
    reads="kills",
    expects=(Callable,),
    hints=(
        "What can float32 return for 1 / 0 that an integer cannot?",
        "Integers have no inf and no nan, and C divides an int by a double as two doubles. Which "
        "types must both numbers have?",
        "A C int goes from -2**31 to 2**31 - 1: there is one more negative number. Zero is one "
        "divisor to look for. With which other divisor is the quotient one too large?",
    ),
    form=says_yes_or_no,
    criteria=(
        Criterion(
            "An integer divided by zero kills, whatever the integer.",
            knows_zero,
            why="no integer can be the result, so the processor interrupts",
            next="it does not matter what is divided: 0 / 0 kills as well",
        ),
        Criterion(
            "No division with a float in it kills.",
            knows_floats,
            why="floats return inf or nan, and set a flag that nobody reads",
            next="look at both types first: C divides an int by a double as doubles",
        ),
        Criterion(
            "An ordinary integer division lives.",
            knows_harmless,
            why="a quotient that fits into 32 bits is no reason to interrupt",
            next="ask for each pair: is there a 32-bit integer that is the answer?",
        ),
        Criterion(
            "The one other integer division that kills is known.",
            knows_the_other,
            why="a quotient one too large for 32 bits raises the same signal",
            next="which quotient of two 32-bit integers is 2**31?",
        ),
    ),
    answer=kills_by_cases,
)
