"""Runs an answer against an exercise and says what came of it. Stores nothing, shows nothing."""

import contextlib
import functools
import io
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape

from course_utils.exercises.declare import TODO, Criterion, Exercise
from course_utils.report import Report, Table
from course_utils.time_limit import TimeLimitReached, time_limit

MAX_PRINTED_LINES = 5


class Outcome(StrEnum):
    PASSED = "passed"
    WRONG = "wrong"
    NOT_ATTEMPTED = "not attempted"
    RAISED = "raised"


class NotAttempted(Exception):
    """The answer, or what it returned, is still TODO."""


class AnswerRaised(Exception):
    """The student's own code raised; holds the exception and a description of the inputs."""

    def __init__(self, error: BaseException, inputs: str) -> None:
        super().__init__(str(error))
        self.error, self.inputs = error, inputs


@dataclass(frozen=True)
class Finding:
    """One criterion and what was seen; `saw` is None when it is met."""

    criterion: Criterion
    saw: str | None


@dataclass(frozen=True)
class CheckReport(Report):
    """What came of one check."""

    exercise: Exercise
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    details: tuple[str, ...] = ()  # what was raised, or what to do when nothing was attempted

    @property
    def points(self) -> int:
        return self.exercise.points if self.outcome is Outcome.PASSED else 0

    @property
    def headline(self) -> str:
        met = sum(finding.saw is None for finding in self.findings)
        counted = f", {met} of {len(self.findings)} met" if self.findings else ""
        points = f"{self.points} of {self.exercise.points} points"
        return f"{self.exercise.id} {self.exercise.title}: {self.outcome}{counted}, {points}"

    def table(self) -> Table:
        rows = []
        for finding in self.findings:
            rows.append(("met" if finding.saw is None else "NOT MET", finding.criterion.says))
            if finding.saw is not None:
                rows.append(("", f"saw: {finding.saw}"))
                rows.append(("", f"why it matters: {finding.criterion.why}"))
                rows.append(("", f"try next: {finding.criterion.next}"))
        return Table(columns=("", "what a right answer does"), rows=rows)

    def text(self) -> str:
        return "\n".join([super().text(), *(f"  {line}" for line in self.details)])

    def html(self) -> str:
        lines = "".join(f"<pre>{escape(line)}</pre>" for line in self.details)
        return super().html() + lines

    def to_dict(self) -> dict:
        return {
            "exercise": self.exercise.id,
            "outcome": str(self.outcome),
            "points": self.points,
            "of": self.exercise.points,
            "unmet": [f.criterion.says for f in self.findings if f.saw is not None],
            "details": list(self.details),
        }


def check(exercise: Exercise, answer: object) -> CheckReport:
    """Run every criterion of `exercise` on `answer`, within its time limit."""
    printed = io.StringIO()
    report = functools.partial(CheckReport, exercise)
    try:
        with (
            time_limit(exercise.time_limit_s),
            contextlib.redirect_stdout(printed),
            kept_random_state(),
        ):
            findings = tuple(_findings(exercise, answer))
    except NotAttempted:
        detail = f"Put your answer into `{exercise.reads}`, run its cell, then this one again."
        return report(Outcome.NOT_ATTEMPTED, details=(detail,))
    except TimeLimitReached:
        detail = (
            f"Your code did not finish within {exercise.time_limit_s:g} s and was stopped. "
            "Look for a loop whose end condition never comes true."
        )
        return report(Outcome.RAISED, details=(detail, *_printed_lines(printed)))
    except AnswerRaised as raised:
        return report(Outcome.RAISED, details=(*_what_was_raised(raised), *_printed_lines(printed)))
    if all(finding.saw is None for finding in findings):
        return report(Outcome.PASSED, findings)
    return report(Outcome.WRONG, findings, _printed_lines(printed))


def _findings(exercise: Exercise, answer: object) -> Iterator[Finding]:
    if _holds_todo(answer):
        raise NotAttempted
    if not isinstance(answer, exercise.expects):
        wanted = " or ".join(_type_name(kind) for kind in exercise.expects)
        form = Criterion(
            f"The answer is a {wanted}.",
            observe=lambda _: None,
            why="nothing else about it can be checked before that",
            next="read again which form the exercise asks for",
        )
        yield Finding(form, f"`{exercise.reads}` is {_describe(answer)}")
        return
    subject = _guarded(answer) if callable(answer) else answer
    if exercise.run is not None:
        try:
            subject = exercise.run(subject)
        except (AnswerRaised, NotAttempted):
            raise
        except Exception as error:
            raise AnswerRaised(error, f"{exercise.reads} = {_describe(answer)}") from error
    for criterion in exercise.criteria:
        yield Finding(criterion, _observe(criterion, subject))


def _observe(criterion: Criterion, subject: object) -> str | None:
    try:
        return criterion.observe(subject)
    except (AnswerRaised, NotAttempted):
        raise
    except Exception as error:  # the check's own code met an answer it cannot work with
        return f"the answer has a form this check cannot work with: {error}"


def _guarded(function: Callable) -> Callable:
    """`function`, but what it raises carries its inputs, and a TODO it returns is noticed."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            named = [f"{key}={_describe(value)}" for key, value in kwargs.items()]
            inputs = ", ".join([*map(_describe, args), *named])
            raise AnswerRaised(error, f"{function.__name__}({inputs})") from error
        if _holds_todo(result):
            raise NotAttempted
        return result

    return call


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


def _printed_lines(printed: io.StringIO) -> tuple[str, ...]:
    lines = printed.getvalue().splitlines()
    if not lines:
        return ()
    shown = lines[-MAX_PRINTED_LINES:]
    return (f"Your code printed {len(lines)} lines, the last of them:", *shown)


def _type_name(kind: type) -> str:
    return "function" if kind is Callable else kind.__name__


def _describe(value: object) -> str:
    """A value in a few words: tensors by dtype, shape and, when small, their numbers."""
    if type(value).__name__ == "Tensor":
        numbers = f" {value.tolist()}" if value.numel() <= 8 else ""
        return f"tensor({str(value.dtype).removeprefix('torch.')}, {tuple(value.shape)}){numbers}"
    if callable(value) and not hasattr(value, "state_dict"):
        return f"the function {getattr(value, '__name__', 'without a name')}"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


@contextlib.contextmanager
def kept_random_state() -> Iterator[None]:
    """Leave the notebook's random state as it was, so that a check changes no later cell."""
    torch = sys.modules.get("torch")
    with torch.random.fork_rng() if torch else contextlib.nullcontext():
        yield
