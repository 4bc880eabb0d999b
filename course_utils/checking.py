"""Runs an answer against an exercise and says what came of it. Stores nothing, shows nothing."""

import functools
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from course_utils import page
from course_utils.contained import Tail, contained
from course_utils.exercises.declare import TODO, Criterion, Exercise
from course_utils.fingerprint import Fingerprint, changed, fingerprint
from course_utils.page import State
from course_utils.quiet import is_a_warning
from course_utils.report import Report, Table
from course_utils.time_limit import TimeLimitReached, time_limit
from course_utils.wrap import wrapped

MAX_PRINTED_LINES, MAX_PRINTED_WIDTH = 5, 100


class Outcome(StrEnum):
    PASSED = "passed"
    WRONG = "wrong"
    NOT_ATTEMPTED = "not attempted"
    RAISED = "raised"


STATES = {
    Outcome.PASSED: State.GOOD,
    Outcome.WRONG: State.BAD,
    Outcome.NOT_ATTEMPTED: State.OPEN,
    Outcome.RAISED: State.ALARM,
}


class NotAttempted(Exception):
    """The answer, or what it returned, is still TODO."""


class AnswerRaised(Exception):
    """The student's own code raised; holds the exception and a description of the inputs."""

    def __init__(self, error: BaseException, inputs: str) -> None:
        super().__init__(str(error))
        self.error, self.inputs = error, inputs


class InputsChanged(Exception):
    """The answer changed what it was given; says what."""


PASS_ON = (NotAttempted, AnswerRaised, InputsChanged, TimeLimitReached)


@dataclass(frozen=True)
class Observation:
    """One criterion and what was seen; `saw` is None when it is met."""

    criterion: Criterion
    saw: str | None


@dataclass(frozen=True)
class CheckReport(Report):
    """What came of one check."""

    exercise: Exercise
    outcome: Outcome
    observed: tuple[Observation, ...] = ()
    details: tuple[str, ...] = ()  # what was raised, or what to do when nothing was attempted

    @property
    def points(self) -> int:
        return self.exercise.points if self.outcome is Outcome.PASSED else 0

    @property
    def headline(self) -> str:
        met = sum(one.saw is None for one in self.observed)
        counted = f", {met} of {len(self.observed)} met" if len(self.observed) > 1 else ""
        points = f"{self.points} of {self.exercise.points} points"
        return f"{self.exercise.id} {self.exercise.title}: {self.outcome}{counted}, {points}"

    @property
    def _first_unmet(self) -> Observation | None:
        """The one to mend first: what is unmet below it may have the same cause."""
        return next((one for one in self.observed if one.saw is not None), None)

    def table(self) -> Table:
        rows, first_unmet = [], self._first_unmet
        for one in self.observed:
            rows.append(("met" if one.saw is None else "NOT MET", one.criterion.says))
            if one.saw is not None:
                rows.append(("", f"saw: {one.saw}"))
            if one is first_unmet:
                advice = {"why it matters": one.criterion.why, "try next": one.criterion.next}
                rows += [("", f"{label}: {text}") for label, text in advice.items() if text]
        return Table(columns=("result", "what a right answer does"), rows=rows)

    def text(self) -> str:
        return "\n".join([super().text(), *(wrapped(f"  {line}") for line in self.details)])

    def html(self) -> str:
        first = self._first_unmet
        body = "".join(_line(one, with_advice=one is first) for one in self.observed)
        details = page.preformatted(self.details) if self.details else ""
        return page.box(STATES[self.outcome], self.headline, body + details)

    def to_dict(self) -> dict:
        return {
            "exercise": self.exercise.id,
            "outcome": str(self.outcome),
            "points": self.points,
            "of": self.exercise.points,
            "unmet": [one.criterion.says for one in self.observed if one.saw is not None],
            "details": list(self.details),
        }


def _line(one: Observation, *, with_advice: bool) -> str:
    if one.saw is None:
        return page.line(State.GOOD, one.criterion.says)
    advice = (("why it matters", one.criterion.why), ("try next", one.criterion.next))
    said = tuple((name, text) for name, text in advice if text and with_advice)
    return page.line(State.BAD, one.criterion.says, (("saw", one.saw), *said))


def check(exercise: Exercise, answer: object, *, until_unmet: bool = False) -> CheckReport:
    """Run every criterion of `exercise` on `answer`, within its time limit.

    Args:
        until_unmet: look no further than the first criterion that is not met; later ones may have
            to train.
    """
    printed = Tail()
    report = functools.partial(CheckReport, exercise)
    try:
        with contained(printed) as interrupts, time_limit(exercise.time_limit_s):
            observed = tuple(_observations(exercise, answer, until_unmet))
    except NotAttempted:
        detail = f"Put your answer into `{exercise.reads}`, run its cell, then this one again."
        return report(Outcome.NOT_ATTEMPTED, details=(detail,))
    except TimeLimitReached:
        detail = (
            f"Your code did not finish within {exercise.time_limit_s:g} s and was stopped. It may "
            "loop without end, wait for something, or work on far more numbers than it was given."
        )
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


def _observations(exercise: Exercise, answer: object, until_unmet: bool) -> Iterator[Observation]:
    if _holds_todo(answer):
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
    return f"a {wanted} is asked, and `{exercise.reads}` is {_describe(answer)}{more}"


def _run(exercise: Exercise, subject: object) -> object:
    try:
        return exercise.run(subject)
    except PASS_ON:
        raise
    except BaseException as error:
        raise AnswerRaised(error, f"{exercise.reads} = {_describe(subject)}") from error


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
    """Every call is watched while the criteria run, so that there is nothing left to do here."""


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


def watched(function: Callable, may_change: tuple[int, ...] = ()) -> Callable:
    """`function`, but what it raises, changes or leaves TODO is noticed with its inputs.

    `check` does this to an answer that is a function; an exercise does it to a function that
    stands within an answer.

    Args:
        may_change: positions of the arguments that it is asked to change.
    """

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        before = _look_at(args, kwargs, may_change)
        try:
            result = function(*args, **kwargs)
        except PASS_ON:
            raise
        except BaseException as error:  # sys.exit in an answer is a verdict, not a dead cell
            named = [f"{key}={_describe(value)}" for key, value in kwargs.items()]
            inputs = ", ".join([*map(_describe, args), *named])
            name = getattr(function, "__name__", type(function).__name__)
            raise AnswerRaised(error, f"{name}({inputs})") from error
        if _holds_todo(result):
            raise NotAttempted
        if place := changed(before, _look_at(args, kwargs, may_change)):
            raise InputsChanged(f"the call changed {place}")
        return result

    return call


def _look_at(args: tuple, kwargs: dict, may_change: tuple[int, ...]) -> Fingerprint:
    kept = {f"argument {n}": arg for n, arg in enumerate(args, 1) if n - 1 not in may_change}
    kept |= {f"argument `{key}`": value for key, value in kwargs.items()}
    looks = [fingerprint(value, name) for name, value in kept.items()]
    return {place: seen for look in looks for place, seen in look.items()}


def _holds_todo(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_todo(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_todo(item) for item in value)
    return value is TODO


def _what_was_raised(raised: AnswerRaised) -> Iterator[str]:
    error = raised.error
    yield f"Your code raised {type(error).__name__}: {str(error).strip() or 'no message'}"
    frames, walk = [], error.__traceback__
    while walk is not None:
        frames.append((walk.tb_frame.f_code.co_filename, walk.tb_lineno))
        walk = walk.tb_next
    own = [(f, n) for f, n in frames if "ipykernel" in f or "<ipython-input" in f]
    for filename, number in own[-1:]:
        yield f"at line {number} of its cell: {linecache.getline(filename, number).strip()}"
    yield f"with these inputs: {raised.inputs}"


def _printed_lines(printed: Tail) -> tuple[str, ...]:
    """What the answer itself printed; the warnings of libraries are not its own."""
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


def _describe(value: object) -> str:
    """A value in a few words: tensors by dtype, shape and, when small, their numbers."""
    torch = sys.modules.get("torch")
    if torch is not None and type(value) is torch.Tensor:
        numbers = f" {value.tolist()}" if value.numel() <= 8 else ""
        return f"tensor({str(value.dtype).removeprefix('torch.')}, {tuple(value.shape)}){numbers}"
    if callable(value) and not hasattr(value, "state_dict"):
        return f"the function {getattr(value, '__name__', 'without a name')}"
    if hasattr(value, "state_dict") or type(value).__repr__ is object.__repr__:
        return f"the {type(value).__name__}"  # an address, or a page of layers, helps nobody
    if isinstance(value, dict) and any(type(one).__name__ == "Tensor" for one in value.values()):
        return f"{{{', '.join(f'{key!r}: {_describe(one)}' for key, one in value.items())}}}"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
