"""Runs an answer against the criteria of an exercise. Stores nothing, shows nothing."""

import functools
import inspect
import linecache
import time
from collections.abc import Callable, Iterator

from course_utils.checks.containment import Tail, contained
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.report import CheckReport, Observation, Outcome
from course_utils.checks.time_limit import TimeLimitReached, time_limit
from course_utils.checks.watched_calls import (
    PASS_ON,
    AnswerRaised,
    InputsChanged,
    NotAttempted,
    describe,
    holds_todo,
    watched,
)
from course_utils.shown.quiet import is_a_warning

MAX_PRINTED_LINES, MAX_PRINTED_WIDTH = 5, 100
MAX_MESSAGE_WIDTH = 400  # of a line of what was raised
SLACK = 6  # a laptop that runs other things, too, takes this many times as long


def check(
    exercise: Exercise, answer: object, *, until_unmet: bool = False, slack: float = SLACK
) -> CheckReport:
    """Run every criterion of `exercise` on `answer`, within its time limit.

    Args:
        until_unmet: look no further than the first criterion that is not met; later ones may have
            to train.
        slack: times the limit by the clock, for an answer that waits; 1 where another process
            computes the answer, whose processor time is not seen here.
    """
    printed, began_s = Tail(), time.process_time()
    report = functools.partial(CheckReport, exercise)
    try:
        with contained(printed) as interrupts, time_limit(exercise.time_limit_s, slack=slack):
            observed = tuple(_observations(exercise, answer, until_unmet))
    except NotAttempted:
        detail = f"Put your answer into `{exercise.reads}`, run its cell, then this one again."
        return report(Outcome.NOT_ATTEMPTED, details=(detail,))
    except TimeLimitReached:
        detail = _too_long(exercise.time_limit_s, slack, time.process_time() - began_s)
        return report(Outcome.RAISED, details=(detail, *_printed_lines(printed)))
    except AnswerRaised as raised:
        if isinstance(raised.error, KeyboardInterrupt) and interrupts.came:
            raise raised.error from None  # the reader stopped the check
        return report(Outcome.RAISED, details=(*_what_was_raised(raised), *_printed_lines(printed)))
    except InputsChanged as change:
        observed = (Observation(INPUTS_STAY, str(change)),)
    if all(one.saw is None for one in observed):
        return report(Outcome.PASSED, observed)
    return report(Outcome.WRONG, observed, _printed_lines(printed))


def _too_long(limit_s: float, slack: float, used_s: float) -> str:
    if used_s >= limit_s:
        return (
            f"Your code did not finish within {limit_s:g} s of processor time and was stopped. It "
            "may loop without end, or work on far more numbers than it was given."
        )
    return (
        f"Your code did not finish within {slack * limit_s:g} s and was stopped. It may wait for "
        "something or loop without end; if the machine is busy, run the cell again."
    )


def _observations(exercise: Exercise, answer: object, until_unmet: bool) -> Iterator[Observation]:
    if holds_todo(answer):
        raise NotAttempted
    subject = _all_watched(answer, exercise.may_change)
    if seen := _form_differs(exercise, answer, subject):
        form = Criterion("The answer has the form that is asked.", exercise.form, why="", next="")
        yield Observation(form, seen)
        return
    if exercise.run is not None:
        subject = _run(exercise, subject)
    for criterion in exercise.criteria:
        yield (seen := Observation(criterion, _observe(criterion, subject)))
        if until_unmet and seen.saw is not None:
            return


def _form_differs(exercise: Exercise, answer: object, subject: object) -> str | None:
    if isinstance(answer, exercise.expects):
        return exercise.form(subject) if exercise.form else None
    wanted = " or ".join(_type_name(kind) for kind in exercise.expects)
    called = Callable in exercise.expects and not callable(answer)
    more = f"; give `{exercise.reads}` itself, without calling it" if called else ""
    return f"a {wanted} is asked, and `{exercise.reads}` is {describe(answer)}{more}"


def _run(exercise: Exercise, subject: object) -> object:
    try:
        return exercise.run(subject)
    except PASS_ON:
        raise
    except BaseException as error:
        raise AnswerRaised(error, f"{exercise.reads} = {describe(subject)}") from error


def _observe(criterion: Criterion, subject: object) -> str | None:
    try:
        return criterion.observe(subject)
    except PASS_ON:
        raise
    except Exception as error:  # the check's own code met an answer it cannot work with
        return f"the answer has a form this check cannot work with: {error}"
    except BaseException as error:  # a function within the answer tried to end the process
        raise AnswerRaised(error, f"an answer that is a {type(subject).__name__}") from error


def leaves_its_inputs_alone(answer) -> str | None:
    """Nothing to do here: every call is watched while the criteria run."""


INPUTS_STAY = Criterion(
    "It leaves what it is given as it was.",
    leaves_its_inputs_alone,
    why="the caller goes on with what it gave, and finds it changed",
    next="work on a copy: nothing like x.add_(1), rows.sort() or log.pop('loss') on the original",
)


def _all_watched(answer: object, may_change: tuple[int, ...]) -> object:
    """A function, or a dict and the functions in it, with every call watched."""
    if callable(answer):
        return watched(answer, may_change)
    if isinstance(answer, dict):
        functions = {key: value for key, value in answer.items() if inspect.isfunction(value)}
        return answer | {key: watched(value, may_change) for key, value in functions.items()}
    return answer


def _what_was_raised(raised: AnswerRaised) -> Iterator[str]:
    error = raised.error
    yield f"Your code raised {type(error).__name__}: {_message(error)}"
    frames, walk = [], error.__traceback__
    while walk is not None:
        frames.append((walk.tb_frame.f_code.co_filename, walk.tb_lineno))
        walk = walk.tb_next
    own = [(f, n) for f, n in frames if "ipykernel" in f or "<ipython-input" in f]
    for filename, number in own[-1:]:
        yield f"at line {number} of its cell: {linecache.getline(filename, number).strip()}"
    yield f"with these inputs: {raised.inputs}"


def _message(error: BaseException) -> str:
    """The text of the error; long ones, such as a state dict that does not fit, are cut off."""
    lines = str(error).strip().splitlines() or ["no message"]
    kept = [line[:MAX_MESSAGE_WIDTH] for line in lines[:MAX_PRINTED_LINES]]
    more = len(lines) - len(kept)
    return "\n".join([*kept, f"and {more} more lines"] if more else kept)


def _printed_lines(printed: Tail) -> tuple[str, ...]:
    """The lines that the answer itself printed, without the warnings of libraries."""
    lines = printed.lines()
    own = [line for line in lines if not is_a_warning(line)]
    if not own:
        return ()
    shown = [line[:MAX_PRINTED_WIDTH] for line in own[-MAX_PRINTED_LINES:]]
    count = max(printed.num_lines, len(lines)) - (len(lines) - len(own))
    counted = "1 line:" if count == 1 else f"{count} lines, the last of them:"
    return (f"Your code printed {counted}", *shown)


def _type_name(kind: type) -> str:
    return "function" if kind is Callable else kind.__name__
