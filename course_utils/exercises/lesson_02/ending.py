"""Exercise 02.1: the signal that a number stands for, as a shell or as Python reports it."""

import re
import signal
from collections.abc import Callable

from course_utils.checks.declare import Criterion, Exercise

# POSIX numbers that are the same on Linux and macOS. Windows' own `signal` lacks most names.
POSIX = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
}
NAMES = POSIX | {number.value: number.name for number in signal.Signals if number > 0}
MOST = 64  # the largest number of a signal on Linux; above it a status names none
# Numbers that have no name of their own: real-time signals, or the C library's own.
NAMELESS = tuple(number for number in range(1, MOST + 1) if number not in NAMES)
PLAIN = (0, *range(1, 129), *range(128 + MOST + 1, 256))


def gives_a_name_or_none(ended_by) -> str | None:
    for status in (136, 0):
        got = ended_by(status)
        if not (got is None or type(got) is str):
            kind = type(got).__name__
            return f'for {status} it gives {got!r} ({kind}); a name such as "SIGKILL" or None'
    return None


def first_other_name(ended_by, status_of: Callable[[int], int]) -> str | None:
    """What is given for the first signal whose name differs, as `status_of` reports it."""
    for number, name in NAMES.items():
        got = ended_by(status_of(number))
        if got != name and not is_alias(got, number):
            return f"for {status_of(number)} it gives {got!r}, where {name!r} is right"
    return None


def is_alias(name: object, number: int) -> bool:
    """Whether it is another name of the same signal, such as SIGIOT of SIGABRT."""
    is_name = isinstance(name, str) and re.fullmatch(r"SIG[A-Z0-9]+", name)
    return bool(is_name) and getattr(signal, name, None) == number


def reads_the_shell(ended_by) -> str | None:
    return first_other_name(ended_by, lambda number: 128 + number)


def reads_return_codes(ended_by) -> str | None:
    return first_other_name(ended_by, lambda number: -number)


def knows_plain_exits(ended_by) -> str | None:
    for status in PLAIN:
        if (got := ended_by(status)) is not None:
            return f"for {status} it gives {got!r}, where None is right"
    return None


def names_by_place(number: int) -> tuple[str, ...]:
    """What a shell calls a real-time signal; nothing for any other number."""
    first, last = getattr(signal, "SIGRTMIN", MOST + 1), getattr(signal, "SIGRTMAX", 0)
    if not first <= number <= last:
        return ()
    return (f"SIGRTMIN+{number - first}", f"SIGRTMAX-{last - number}")


def invents_no_name(ended_by) -> str | None:
    for number in NAMELESS:
        for status in (128 + number, -number):
            got, names = ended_by(status), names_by_place(number)
            if got is not None and got not in names:
                either = " or ".join(["None", *map(repr, names)])
                return f"for {status} it gives {got!r}, where {either} is right"
    return None


def ended_by_enum(status):
    number = -status if status < 0 else status - 128
    return signal.Signals(number).name if number in set(signal.Signals) else None


ENDING = Exercise(
    id="02.1",
    name="ENDING",
    title="Which signal was it?",
    minutes=5,
    difficulty="a few lines",
    points=2,
    reads="ended_by",
    expects=(Callable,),
    hints=(
        "A shell can only report numbers from 0 to 255. What did it do with the 8 of SIGFPE?",
        "Python's return code is minus the signal; a shell's status is 128 plus the signal.",
        "The set signal.Signals says which numbers exist on this machine; each member has a .name.",
    ),
    form=gives_a_name_or_none,
    criteria=(
        Criterion(
            "A shell's status is read as 128 plus the signal, for every signal there is.",
            reads_the_shell,
            why="job logs and schedulers show this number, not the name",
            next="subtract 128 and look the rest up in signal.Signals",
        ),
        Criterion(
            "A negative return code is read as minus the signal, for every signal there is.",
            reads_return_codes,
            why="torchrun and subprocess show this number: exitcode -8",
            next="change the sign, then look the number up",
        ),
        Criterion(
            "A plain exit, 0 to 128 or above 192, gives None.",
            knows_plain_exits,
            why="exit code 8 is a program's own choice; only the system sends signal 8",
            next="which numbers remain after you subtract 128, and does each belong to a signal?",
        ),
        Criterion(
            "A number up to 64 that has no name of its own gives None (or its place).",
            invents_no_name,
            why="a wrong name sends the reader of the log to a wrong cause",
            next="ask for 163 and -35: what does signal.Signals know of 35?",
        ),
    ),
    answer=ended_by_enum,
)
