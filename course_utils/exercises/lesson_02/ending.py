"""Exercise 02.1: the signal that a number stands for, as a shell or as Python reports it."""

import signal
from collections.abc import Callable

from course_utils.exercises.declare import Criterion, Exercise, Wrong

# POSIX numbers that are the same on Linux and macOS. Windows' own `signal` lacks most names.
NAMES = {
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
BOTH = ((0, -1), (128, 1))  # Python's way to say it, and a shell's


def _compare(ended_by, statuses: dict[int, str | None]) -> str | None:
    for status, want in statuses.items():
        got = ended_by(status)
        if got != want:
            return f"for {status} it gives {got!r}, where {want!r} is right"
    return None


def reads_the_shell(ended_by) -> str | None:
    return _compare(ended_by, {136: "SIGFPE", 139: "SIGSEGV", 137: "SIGKILL", 134: "SIGABRT"})


def reads_return_codes(ended_by) -> str | None:
    return _compare(ended_by, {-8: "SIGFPE", -11: "SIGSEGV", -9: "SIGKILL", -6: "SIGABRT"})


def knows_plain_exits(ended_by) -> str | None:
    return _compare(ended_by, dict.fromkeys((0, 1, 2, 8, 127, 128, 255)))


def ended_by_enum(status):
    number = -status if status < 0 else status - 128
    return signal.Signals(number).name if number in set(signal.Signals) else None


def ended_by_table(status):
    by_number = {start + n * sign: name for n, name in NAMES.items() for start, sign in BOTH}
    return by_number.get(status)


def ended_by_sigfpe_only(status):
    return "SIGFPE" if status in (136, -8) else None


def ended_by_absolute(status):
    return NAMES.get(abs(status) % 128)


def ended_by_shell_only(status):
    return NAMES.get(status - 128)


def ended_by_python_only(status):
    return NAMES.get(-status)


def ended_by_number(status):
    return status - 128 if status > 128 else -status


def ended_by_anything_nonzero(status):
    if status == 0:
        return None
    return NAMES.get(-status) or NAMES.get(status - 128) or "SIGKILL"


ENDING = Exercise(
    id="02.1",
    name="ENDING",
    title="Which signal was it?",
    minutes=3,
    difficulty="a few lines",
    points=2,
    reads="ended_by",
    expects=(Callable,),
    hints=(
        "A shell has only 0 to 255 to say it with. What did it do to the 8 of SIGFPE?",
        "Python's return code is minus the signal; a shell's status is 128 plus the signal.",
        "signal.Signals(8).name is 'SIGFPE'; the set signal.Signals says which numbers exist.",
    ),
    criteria=(
        Criterion(
            "A shell's status above 128 is read as 128 plus the signal.",
            reads_the_shell,
            why="job logs and schedulers show this number, not the name",
            next="subtract 128 and look the rest up in signal.Signals",
        ),
        Criterion(
            "A negative return code is read as minus the signal.",
            reads_return_codes,
            why="torchrun and subprocess show this number: exitcode -8",
            next="turn the sign around, then look it up",
        ),
        Criterion(
            "A plain exit gives None: 0, 1, 2, 8, 127, 128, 255.",
            knows_plain_exits,
            why="exit code 8 is a program's own choice; only the system sends signal 8",
            next="128 itself names no signal, and 255 - 128 is no signal either",
        ),
    ),
    right=(ended_by_enum, ended_by_table),
    wrong=(
        Wrong(ended_by_sigfpe_only, caught_by=reads_the_shell),
        Wrong(ended_by_python_only, caught_by=reads_the_shell),
        Wrong(ended_by_number, caught_by=reads_the_shell),
        Wrong(ended_by_shell_only, caught_by=reads_return_codes),
        Wrong(ended_by_absolute, caught_by=knows_plain_exits),
        Wrong(ended_by_anything_nonzero, caught_by=knows_plain_exits),
    ),
)
