"""Weights that are float16 themselves where an optimizer steps them."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import (
    Found,
    Row,
    Rule,
    goes_on,
    keyword,
    told,
    written,
)

_HALF = re.compile(r"^(?:torch\.)?(?:float16|half)$|^'(?:float16|fp16|half)'$")
_WHOLE = re.compile(r"^(?:torch\.)?(?:float32|float|bfloat16)$|^'\w+'$|^None$")
_MASTERS = re.compile(
    r"deepspeed|zero[-_ ]?[123]|amp\.init|master|lora|peft|load_in_|quanti|fsdp|kahan|stochastic",
    re.IGNORECASE,
)
LARGE_EPS = 1e-7


def _half(rows: list[Row], beside: Beside) -> Found:
    """Weights that are float16 themselves and are given to Adam."""
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
            if kind == "half":
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
        if name == "half" or any(map(_HALF.match, given)):
            return "half"
        if name in ("float", "bfloat16", "from_pretrained") or any(map(_WHOLE.match, given)):
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


def wrong_in_the_format(beside: Beside, log: Log) -> Iterator[Finding]:
    return told(beside, log, _RULES)
