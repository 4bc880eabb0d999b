"""Weights that are float16, or bfloat16, themselves where an optimizer steps them."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import thirds, trend
from course_utils.explain.stated.calls.given import (
    Found,
    Row,
    Rule,
    goes_on,
    keyword,
    told,
    written,
)
from course_utils.explain.stated.steps.rounded import KEEP_FLOAT32, LARGER_HIDES

_HALF = re.compile(r"^(?:torch\.)?(?:float16|half)$|^'(?:float16|fp16|half)'$")
_BRAIN = re.compile(r"^(?:torch\.)?bfloat16$|^'(?:bfloat16|bf16)'$")
_WHOLE = re.compile(r"^(?:torch\.)?(?:float32|float)$|^'\w+'$|^None$")
_MASTERS = re.compile(
    r"deepspeed|zero[-_ ]?[123]|amp\.init|master|lora|peft|load_in_|quanti|fsdp|kahan|stochastic",
    re.IGNORECASE,
)
_DEVICE = re.compile(r"^'(?:cuda|cpu|mps|npu|xpu)(?::\d+)?'$")
LARGE_EPS = 1e-7
TINY, STANDS = 2e-6, 0.03  # a rate whose steps bfloat16 cannot hold; of the loss


def _half(rows: list[Row], beside: Beside) -> Found:
    """Weights that are float16 themselves and are given to Adam."""
    return _given_to_adam(rows, beside, "half")


def _brain(rows: list[Row], beside: Beside) -> Found:
    """Weights that are bfloat16 themselves and are given to Adam."""
    return _given_to_adam(rows, beside, "bfloat16")


def _given_to_adam(rows: list[Row], beside: Beside, wanted: str) -> Found:
    if beside.matching(_MASTERS):
        return None
    halved: dict[str, Line] = {}
    for number, row in enumerate(rows):
        for name in row.trains & halved.keys() if goes_on(rows, number) else ():
            if re.search(r"Adam|Trainer$", name_of(row.by.func)) and not _is_large(row.by):
                return [halved[name], row.line], name
        for name, value in _set(row, rows[number - 1] if number else None):
            kind = _format(value)
            if kind:
                halved.pop(name, None)
            if kind == wanted:
                halved[name] = row.line
    return None


def _is_large(call: ast.Call) -> bool:
    eps = keyword(call, "eps", "adam_epsilon")
    return isinstance(eps, ast.Constant) and isinstance(eps.value, float) and eps.value > LARGE_EPS


def _set(row: Row, above: Row | None) -> Iterator[tuple[str, ast.expr]]:
    """Names with what they get, or with a method that changes what they hold in place."""
    yield from ((written(target), value) for target, value in bound(row.one))
    is_optional = above is not None and isinstance(above.one, ast.If)
    call = row.one.value if isinstance(row.one, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not is_optional:
        yield written(call.func.value), call


def _format(value: ast.AST) -> str:
    """The format that a chain of calls leaves weights in: the last one that it names.

    >>> _format(ast.parse("f.from_pretrained(x, dtype=torch.float16).float()").body[0].value)
    'whole'
    """
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        name = value.func.attr
        if name not in ("to", "half", "float", "bfloat16", "from_pretrained", "cuda", "train"):
            return ""
        given = [one.value for one in value.keywords if one.arg in ("dtype", "torch_dtype")]
        given = [written(one) for one in (*given, *(value.args if name == "to" else ()))]
        given = [one for one in given if not _DEVICE.match(one)]
        if name == "half" or any(map(_HALF.match, given)):
            return "half"
        if name == "bfloat16" or any(map(_BRAIN.match, given)):
            return "bfloat16"
        if name in ("float", "from_pretrained") or any(map(_WHOLE.match, given)):
            return "whole"
        value = value.func.value
    return ""


_RULES = (
    Rule(
        _half,
        "half_weights",
        "`{}` is loaded or cast in float16, and these weights themselves are given to the "
        "optimizer: there AdamW's eps of 1e-8 and small second moments are 0, so that steps become "
        "inf or nan, and updates smaller than the spacing of float16 are lost",
        "load the weights that are trained in float32 and let fp16=True or torch.autocast with a "
        "GradScaler compute in float16; or load and train in bfloat16",
    ),
)


_OF_SMALL_STEPS = (
    Rule(
        _brain,
        "rounding_swallows",
        "`{}` is loaded or cast in bfloat16, and these weights themselves are given to the "
        "optimizer, with no float32 copy: a step of Adam moves a weight by about the rate, and at "
        "this rate that is less than half the distance of two numbers of bfloat16 for all weights "
        "above 0.001, so that nearly every update is rounded away, whatever the gradients are",
        KEEP_FLOAT32 + LARGER_HIDES,
    ),
)


def wrong_in_the_format(beside: Beside, log: Log) -> Iterator[Finding]:
    yield from told(beside, log, _RULES)
    if _stands_at_a_tiny_rate(log, beside):
        yield from told(beside, log, _OF_SMALL_STEPS)


def _stands_at_a_tiny_rate(log: Log, beside: Beside) -> bool:
    """Whether a loss is level and has no trend, where gradients arrive and the rate is tiny."""
    rates, asked = finite(log.values("learning_rate")), beside.printed("learning_rate")
    rate = max(rates) if rates else (asked and asked.number) or 0.0
    losses, norms = log.values("loss"), finite(log.values("grad_norm"))
    levels = thirds(losses) if log.kind() == "supervised" else None
    if levels is None or not 0 < rate <= TINY or (norms and not any(norms)):
        return False
    return abs(levels[2] - levels[0]) < STANDS * abs(levels[0]) and trend(losses) is None
