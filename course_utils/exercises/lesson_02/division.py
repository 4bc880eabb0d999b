"""Exercise 02.4: which divisions end a process on x86-64."""

from collections.abc import Callable

from course_utils.exercises.declare import Criterion, Exercise, Wrong

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
NAN, INF = float("nan"), float("inf")

# Source: Intel SDM, volume 2A, IDIV: #DE when the divisor is 0 or the quotient does not fit; IEEE
# 754-2019, section 7: float faults set a flag and deliver a default result unless trapped.
# tests/test_lesson_02_grpo.py makes every integer division of these in a child.
BY_ZERO = {(1, 0): True, (0, 0): True, (INT_MIN, 0): True, (-7, 0): True}
HARMLESS = {
    (7, 2): False,
    (0, 5): False,
    (-7, -1): False,
    (INT_MAX, -1): False,
    (INT_MIN, 1): False,
}
TOO_LARGE = {(INT_MIN, -1): True}
FLOATS = {
    (1.0, 0.0): False,
    (0.0, 0.0): False,
    (NAN, 0.0): False,
    (1e308, 1e-308): False,
    (float(INT_MIN), -1.0): False,
    (INF, INF): False,
}
MIXED = {(1.0, 0): False, (INF, 0): False}  # apart: 1.0 == 1, so a dict would hold one of them


def _compare(kills, cases: dict[tuple, bool]) -> str | None:
    for (a, b), want in cases.items():
        got = kills(a, b)
        if bool(got) != want:
            truth = "ends the process" if want else "lives"
            kinds = f"{type(a).__name__} by {type(b).__name__}"
            return f"for {a!r} / {b!r} ({kinds}) it gives {got!r}; the division {truth}"
    return None


def knows_zero(kills) -> str | None:
    return _compare(kills, BY_ZERO)


def knows_harmless(kills) -> str | None:
    return _compare(kills, HARMLESS)


def knows_floats(kills) -> str | None:
    return _compare(kills, FLOATS) or _compare(kills, MIXED)


def knows_the_other(kills) -> str | None:
    if _compare(kills, TOO_LARGE) is None:
        return None
    return "of all pairs with b other than 0 one more ends the process, and it gives False for it"


def kills_by_cases(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return False
    return b == 0 or (a, b) == (INT_MIN, -1)


def kills_by_quotient(a, b):
    """An integer quotient that does not exist, or does not fit into 32 bits."""
    if not (isinstance(a, int) and isinstance(b, int)):
        return False
    return b == 0 or not INT_MIN <= int(a / b) <= INT_MAX


def kills_any_zero(a, b):
    return b == 0


def kills_integers_by_zero(a, b):
    return isinstance(a, int) and b == 0


def kills_by_divisor(a, b):
    return isinstance(b, int) and (b == 0 or (a, b) == (INT_MIN, -1))


def kills_floats(a, b):
    return isinstance(a, float) and b == 0


def kills_any_minus_one(a, b):
    return isinstance(a, int) and b in (0, -1)


def kills_small(a, b):
    return isinstance(a, int) and (b == 0 or a == INT_MIN)


DIVISION = Exercise(
    id="02.4",
    name="DIVISION",
    title="Which divisions kill?",
    minutes=4,
    difficulty="one expression",
    points=2,
    reads="kills",
    expects=(Callable,),
    hints=(
        "What can float32 answer to 1 / 0 that an integer cannot?",
        "Integers have no inf and no nan. A C int reaches from -2**31 to 2**31 - 1, one further "
        "down than up. Which quotients have no such integer?",
        "b == 0, and the smallest integer divided by -1.",
    ),
    criteria=(
        Criterion(
            "An integer divided by zero kills.",
            knows_zero,
            why="there is no integer for the answer, so the processor interrupts",
            next="it does not matter what is divided: 0 / 0 kills as well",
        ),
        Criterion(
            "No float division kills.",
            knows_floats,
            why="floats have inf and nan for the answer, and a flag that nobody reads",
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
    right=(kills_by_cases, kills_by_quotient),
    wrong=(
        Wrong(kills_floats, caught_by=knows_zero),
        Wrong(kills_any_zero, caught_by=knows_floats),
        Wrong(kills_by_divisor, caught_by=knows_floats),
        Wrong(kills_any_minus_one, caught_by=knows_harmless),
        Wrong(kills_small, caught_by=knows_harmless),
        Wrong(kills_integers_by_zero, caught_by=knows_the_other),
    ),
)
