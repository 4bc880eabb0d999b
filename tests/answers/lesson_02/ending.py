"""Right and wrong answers of exercise 02.1."""

import re
import signal

from course_utils.exercises.lesson_02 import ending
from course_utils.exercises.lesson_02.ending import NAMELESS, NAMES, ended_by_enum
from tests.answers import answers_of

right, wrong = answers_of(ending.ENDING)


@right
def ended_by_table(status):
    by_number = {code: name for n, name in NAMES.items() for code in (-n, 128 + n)}
    return by_number.get(status)


@right
def ended_by_trying(status):
    try:
        return signal.Signals(status - 128 if status > 128 else -status).name
    except ValueError:
        return None


@right
def ended_by_older_names(status):
    """SIGABRT is called SIGIOT as well, and SIGCHLD SIGCLD."""
    names = {name: getattr(signal, name) for name in dir(signal) if re.match("SIG[A-Z]", name)}
    return next((n for n, number in names.items() if status in (-number, 128 + number)), None)


@right
def ended_by_place(status):
    """Calls a real-time signal as a shell does, by its distance from the first."""
    number = status - 128 if status > 128 else -status
    is_real_time = "SIGRTMIN" in NAMES.values() and signal.SIGRTMIN < number < signal.SIGRTMAX
    return f"SIGRTMIN+{number - signal.SIGRTMIN}" if is_real_time else ended_by_enum(status)


@wrong(caught_by=ending.invents_no_name)
def ended_by_kill_for_nameless(status):
    """Takes every signal without a name for the best known one."""
    number = status - 128 if status > 128 else -status
    return "SIGKILL" if number in NAMELESS else ended_by_enum(status)


@wrong(caught_by=ending.invents_no_name)
def ended_by_kill_in_a_shell(status):
    return "SIGKILL" if status - 128 in NAMELESS else ended_by_enum(status)


@wrong(caught_by=ending.invents_no_name)
def ended_by_first_of_real_time(status):
    number = status - 128 if status > 128 else -status
    return "SIGRTMIN" if number in NAMELESS else ended_by_enum(status)


@wrong(caught_by=ending.invents_no_name)
def ended_by_number_as_name(status):
    number = status - 128 if status > 128 else -status
    return f"signal {number}" if number in NAMELESS else ended_by_enum(status)


@wrong(caught_by=ending.reads_the_shell)
def ended_by_short_table(status):
    known = {8: "SIGFPE", 11: "SIGSEGV", 9: "SIGKILL", 6: "SIGABRT"}
    return known.get(-status) or known.get(status - 128)


@wrong(caught_by=ending.reads_the_shell)
def ended_by_crashes(status):
    """The deaths a program brings on itself, and none that is sent from outside."""
    name = ended_by_enum(status)
    return name if name in ("SIGFPE", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGTRAP") else None


@wrong(caught_by=ending.reads_the_shell)
def ended_by_sigfpe_only(status):
    return "SIGFPE" if status in (136, -8) else None


@wrong(caught_by=ending.knows_plain_exits)
def ended_by_absolute(status):
    return NAMES.get(abs(status) % 128)


@wrong(caught_by=ending.reads_return_codes)
def ended_by_shell_only(status):
    return NAMES.get(status - 128)


@wrong(caught_by=ending.reads_the_shell)
def ended_by_python_only(status):
    return NAMES.get(-status)


@wrong(caught_by=ending.reads_return_codes)
def ended_by_all_but_sigterm(status):
    return ended_by_enum(status) if status != -15 else None


@wrong(caught_by=ending.gives_a_name_or_none)
def ended_by_number(status):
    return status - 128 if status > 128 else -status


@wrong(caught_by=ending.gives_a_name_or_none)
def ended_by_member(status):
    number = -status if status < 0 else status - 128
    return signal.Signals(number) if number in set(signal.Signals) else None


@wrong(caught_by=ending.reads_the_shell)
def ended_by_a_sentence(status):
    return signal.strsignal(8) if status == 136 else None


@wrong(caught_by=ending.knows_plain_exits)
def ended_by_no(status):
    return ended_by_enum(status) or "no signal"


@wrong(caught_by=ending.reads_the_shell)
def ended_by_small_letters(status):
    name = ended_by_enum(status)
    return name and name.lower()


@wrong(caught_by=ending.knows_plain_exits)
def ended_by_bare_numbers(status):
    """Takes a program's own exit code for the number of a signal."""
    return NAMES.get(status - 128 if status > 128 else abs(status))


@wrong(caught_by=ending.knows_plain_exits)
def ended_by_anything_large(status):
    return ended_by_enum(status) or ("SIGKILL" if status > 128 else None)


@wrong(caught_by=ending.knows_plain_exits)
def ended_by_anything_nonzero(status):
    return (ended_by_enum(status) or "SIGKILL") if status else None


wrong(lambda status: [ended_by_enum(status)], caught_by=ending.gives_a_name_or_none)


@wrong(caught_by=ending.reads_the_shell)
def ended_by_name_and_number(status):
    name = ended_by_enum(status)
    return name and f"{name} ({getattr(signal, name).value})"


@wrong(caught_by=ending.reads_the_shell)
def ended_by_short_name(status):
    return (ended_by_enum(status) or "")[3:] or None
