"""Exercise 02.1: the signal that a number stands for, as a shell or as Python reports it."""

import re
import signal
from collections.abc import Callable

from course_utils.checks.declare import Criterion, Exercise, Wrong

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


def ended_by_table(status):
    by_number = {code: name for n, name in NAMES.items() for code in (-n, 128 + n)}
    return by_number.get(status)


def ended_by_trying(status):
    try:
        return signal.Signals(status - 128 if status > 128 else -status).name
    except ValueError:
        return None


def ended_by_older_names(status):
    """SIGABRT is called SIGIOT as well, and SIGCHLD SIGCLD."""
    names = {name: getattr(signal, name) for name in dir(signal) if re.match("SIG[A-Z]", name)}
    return next((n for n, number in names.items() if status in (-number, 128 + number)), None)


def ended_by_place(status):
    """Calls a real-time signal as a shell does, by its distance from the first."""
    number = status - 128 if status > 128 else -status
    is_real_time = "SIGRTMIN" in NAMES.values() and signal.SIGRTMIN < number < signal.SIGRTMAX
    return f"SIGRTMIN+{number - signal.SIGRTMIN}" if is_real_time else ended_by_enum(status)


def ended_by_kill_for_nameless(status):
    """Takes every signal without a name for the best known one."""
    number = status - 128 if status > 128 else -status
    return "SIGKILL" if number in NAMELESS else ended_by_enum(status)


def ended_by_kill_in_a_shell(status):
    return "SIGKILL" if status - 128 in NAMELESS else ended_by_enum(status)


def ended_by_first_of_real_time(status):
    number = status - 128 if status > 128 else -status
    return "SIGRTMIN" if number in NAMELESS else ended_by_enum(status)


def ended_by_number_as_name(status):
    number = status - 128 if status > 128 else -status
    return f"signal {number}" if number in NAMELESS else ended_by_enum(status)


def ended_by_short_table(status):
    known = {8: "SIGFPE", 11: "SIGSEGV", 9: "SIGKILL", 6: "SIGABRT"}
    return known.get(-status) or known.get(status - 128)


def ended_by_crashes(status):
    """The deaths a program brings on itself, and none that is sent from outside."""
    name = ended_by_enum(status)
    return name if name in ("SIGFPE", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGTRAP") else None


def ended_by_sigfpe_only(status):
    return "SIGFPE" if status in (136, -8) else None


def ended_by_absolute(status):
    return NAMES.get(abs(status) % 128)


def ended_by_shell_only(status):
    return NAMES.get(status - 128)


def ended_by_python_only(status):
    return NAMES.get(-status)


def ended_by_all_but_sigterm(status):
    return ended_by_enum(status) if status != -15 else None


def ended_by_number(status):
    return status - 128 if status > 128 else -status


def ended_by_member(status):
    number = -status if status < 0 else status - 128
    return signal.Signals(number) if number in set(signal.Signals) else None


def ended_by_a_sentence(status):
    return signal.strsignal(8) if status == 136 else None


def ended_by_no(status):
    return ended_by_enum(status) or "no signal"


def ended_by_small_letters(status):
    name = ended_by_enum(status)
    return name and name.lower()


def ended_by_bare_numbers(status):
    """Takes a program's own exit code for the number of a signal."""
    return NAMES.get(status - 128 if status > 128 else abs(status))


def ended_by_anything_large(status):
    return ended_by_enum(status) or ("SIGKILL" if status > 128 else None)


def ended_by_anything_nonzero(status):
    return (ended_by_enum(status) or "SIGKILL") if status else None


ENDING = Exercise(
    id="02.1",
    name="ENDING",
    title="Which signal was it?",
    minutes=4,
    difficulty="a few lines",
    points=2,
    reads="ended_by",
    expects=(Callable,),
    hints=(
        "A shell has only 0 to 255 to say it with. What did it do to the 8 of SIGFPE?",
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
            next="turn the sign around, then look it up",
        ),
        Criterion(
            "A plain exit, 0 to 128 or above 192, gives None.",
            knows_plain_exits,
            why="exit code 8 is a program's own choice; only the system sends signal 8",
            next="which numbers remain when 128 is taken off, and does a signal have each of them?",
        ),
        Criterion(
            "A number up to 64 that has no name of its own gives None (or its place).",
            invents_no_name,
            why="a false name sends whoever reads the log to a wrong cause",
            next="ask for 163 and -35: what does signal.Signals know of 35?",
        ),
    ),
    right=(ended_by_enum, ended_by_table, ended_by_trying, ended_by_older_names, ended_by_place),
    wrong=(
        Wrong(ended_by_number, caught_by=gives_a_name_or_none),
        Wrong(ended_by_member, caught_by=gives_a_name_or_none),
        Wrong(lambda status: [ended_by_enum(status)], caught_by=gives_a_name_or_none),
        Wrong(ended_by_sigfpe_only, caught_by=reads_the_shell),
        Wrong(ended_by_short_table, caught_by=reads_the_shell),
        Wrong(ended_by_crashes, caught_by=reads_the_shell),
        Wrong(ended_by_python_only, caught_by=reads_the_shell),
        Wrong(ended_by_small_letters, caught_by=reads_the_shell),
        Wrong(ended_by_a_sentence, caught_by=reads_the_shell),
        Wrong(ended_by_shell_only, caught_by=reads_return_codes),
        Wrong(ended_by_all_but_sigterm, caught_by=reads_return_codes),
        Wrong(ended_by_no, caught_by=knows_plain_exits),
        Wrong(ended_by_absolute, caught_by=knows_plain_exits),
        Wrong(ended_by_bare_numbers, caught_by=knows_plain_exits),
        Wrong(ended_by_anything_large, caught_by=knows_plain_exits),
        Wrong(ended_by_anything_nonzero, caught_by=knows_plain_exits),
        Wrong(ended_by_kill_for_nameless, caught_by=invents_no_name),
        Wrong(ended_by_kill_in_a_shell, caught_by=invents_no_name),
        Wrong(ended_by_first_of_real_time, caught_by=invents_no_name),
        Wrong(ended_by_number_as_name, caught_by=invents_no_name),
    ),
)
