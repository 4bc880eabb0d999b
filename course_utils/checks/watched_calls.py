"""Wraps an answer's functions: reports what they raise, change, or leave as TODO."""

import functools
import inspect
import sys
from collections.abc import Callable

from course_utils.checks.declare import TODO
from course_utils.checks.input_fingerprint import Fingerprint, changed, fingerprint
from course_utils.checks.time_limit import TimeLimitReached


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


def watched(function: Callable, may_change: tuple[int, ...] = ()) -> Callable:
    """Wraps `function`: what it raises, changes or leaves TODO is reported with its inputs.

    `check` does this to an answer that is a function; an exercise does it to a function that
    stands within an answer.

    Args:
        may_change: positions of the arguments that it is asked to change.
    """

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        named = list(zip(_names(function, len(args)), args, strict=True))
        before = _look_at(named, kwargs, may_change)
        try:
            result = function(*args, **kwargs)
        except PASS_ON:
            raise
        except BaseException as error:  # sys.exit in an answer is a verdict, not a dead cell
            by_key = [f"{key}={describe(value)}" for key, value in kwargs.items()]
            inputs = ", ".join([*map(describe, args), *by_key])
            name = getattr(function, "__name__", type(function).__name__)
            raise AnswerRaised(error, f"{name}({inputs})") from error
        if holds_todo(result):
            raise NotAttempted
        if place := changed(before, _look_at(named, kwargs, may_change)):
            raise InputsChanged(f"the call changed {place}")
        return result

    return call


def _look_at(named: list, kwargs: dict, may_change: tuple[int, ...]) -> Fingerprint:
    kept = {name: arg for n, (name, arg) in enumerate(named) if n not in may_change}
    kept |= {f"argument `{key}`": value for key, value in kwargs.items()}
    looks = [fingerprint(value, name) for name, value in kept.items()]
    return {place: seen for look in looks for place, seen in look.items()}


def _names(function: Callable, num: int) -> list[str]:
    """What the function calls its first arguments; by number, where it has no names for them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function in C
        parameters = ()
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in parameters if one.kind in plain][:num]
    return names + [f"argument {n + 1}" for n in range(len(names), num)]


def holds_todo(value: object) -> bool:
    if isinstance(value, dict):
        return any(holds_todo(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_todo(item) for item in value)
    return value is TODO


def describe(value: object) -> str:
    """A value in a few words: tensors by dtype, shape and, when small, their numbers."""
    torch = sys.modules.get("torch")
    if torch is not None and type(value) is torch.Tensor:
        numbers = f" {value.tolist()}" if value.numel() <= 8 else ""
        return f"tensor({str(value.dtype).removeprefix('torch.')}, {tuple(value.shape)}){numbers}"
    if callable(value) and not hasattr(value, "state_dict"):
        name = getattr(value, "__name__", None)
        return f"the function {name}" if name else f"the {type(value).__name__}"
    if hasattr(value, "state_dict") or type(value).__repr__ is object.__repr__:
        return f"the {type(value).__name__}"  # an address, or a page of layers, helps nobody
    if isinstance(value, dict) and any(type(one).__name__ == "Tensor" for one in value.values()):
        return f"{{{', '.join(f'{key!r}: {describe(one)}' for key, one in value.items())}}}"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
