"""Exercise 02.7: where a stuck process waits, for what, and what would have said so."""

import re

from course_utils.checks.compare import letter_in
from course_utils.checks.declare import Criterion, Exercise

KEYS = ("line", "waits_for", "fix")
REASONS = {
    "a": "a lock that the worker took and still holds",
    "b": "an answer from the worker, which is dead and sends none",
    "c": "the end of the worker, which has not ended yet",
    "d": "nothing: it computes, and is slow",
}
CHANGES = {
    "a": "call worker.join() before scores.get()",
    "b": "make the time limit of the run longer",
    "c": "make the worker a daemon, daemon=True",
    "d": "while there is no answer, check that the worker is alive; if it is not, raise",
}
# test_lesson_02_unseen.py runs the code of the lesson and finds this line in its stack.
WAITS_AT = "scores.get()"


def choices() -> str:
    """What the two letters stand for, as a text."""
    parts = {"waits_for": REASONS, "fix": CHANGES}
    lines = [
        [f"{key}:", *(f"  {k}) {text}" for k, text in of.items())] for key, of in parts.items()
    ]
    return "\n".join(line for part in lines for line in part)


def has_a_line_and_two_letters(stuck: dict) -> str | None:
    if set(stuck) != set(KEYS):
        given = ", ".join(map(str, stuck)) or "none"
        return f"its keys are {given}; expected are {', '.join(KEYS)}"
    if not isinstance(stuck["line"], str):
        return f"line is {stuck['line']!r}; the text of a line is asked, not its number"
    for key in KEYS[1:]:
        if letter_of(stuck, key) not in REASONS:
            return f"{key} is {stuck[key]!r}; one of {', '.join(REASONS)} is asked"
    return None


def letter_of(stuck: dict, key: str) -> str:
    return letter_in(stuck[key])


def names_the_line(stuck) -> str | None:
    text = re.sub(r"#.*|^\s*return\b|\s+", "", stuck["line"])
    return None if text == WAITS_AT else f"it says {stuck['line']!r}"


def names_what_it_waits_for(stuck) -> str | None:
    letter = letter_of(stuck, "waits_for")
    return None if letter == "b" else f"it says {letter}) {REASONS[letter]}"


def turns_silence_into_an_error(stuck) -> str | None:
    letter = letter_of(stuck, "fix")
    return None if letter == "d" else f"it says {letter}) {CHANGES[letter]}"


BEST = {"line": "return scores.get()", "waits_for": "b", "fix": "d"}

HANG = Exercise(
    id="02.7",
    name="HANG",
    title="Where does it wait?",
    minutes=3,
    difficulty="a line and two letters",
    points=2,
    reads="stuck_at",
    expects=(dict,),
    hints=(
        "The stack is innermost first. Which is the first frame that lies in the notebook?",
        "How many processes are there, and which of them did the fault handler write about? What "
        "does the code do to the other one when a reply is long?",
        "A process that was sent SIGKILL leaves no message. Which of the four changes would notice "
        "that it is gone, and when?",
    ),
    form=has_a_line_and_two_letters,
    criteria=(
        Criterion(
            "It names the line of the notebook at which the process waits.",
            names_the_line,
            why="in the library frames above it, all waits look the same",
            next="take the innermost frame that is called 'notebook cell', and read that line",
        ),
        Criterion(
            "It names what the process waits for.",
            names_what_it_waits_for,
            why="the process that waits is rarely at fault; look for the one that should answer",
            next="what is left of the worker after the line with os.kill?",
        ),
        Criterion(
            "It names the change that turns the silence into an error.",
            turns_silence_into_an_error,
            why="an error names the dead process after seconds; a silent job costs you a night",
            next="for each of the four: would the process still wait at the same line?",
        ),
    ),
    answer=BEST,
)
