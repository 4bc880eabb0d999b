"""A loss without a graph: computed where nothing is recorded, detached, or made anew."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import STANDS, Found, Row, Rule, keyword, told, written

_LOSS = re.compile(r"loss|criterion|entropy", re.IGNORECASE)
_PASSES = re.compile(
    r"^(?:mean|sum|float|view|reshape|squeeze|log|(?:log_?)?softmax|gather|contiguous|tensor|"
    r"as_tensor|Variable|detach|item|argmax|numpy|cpu|to|tolist|transpose|scale)$"
)
_MODULES = re.compile(r"^(?:F|torch|nn|np|numpy|functional|autograd)(?:\.|$)")
_ENDS = ("detach", "data", "item", "argmax", "numpy", "tolist")
_TARGET = re.compile(r"label|target|tgt|gold|return|mask|\by\b", re.IGNORECASE)
_STEPS = re.compile(r"accum|steps|^\w$|temperature|\bn_|num_", re.IGNORECASE)
_OFF = re.compile(r"^@(?:torch\.)?(?:no_grad|inference_mode)\b")
_IN_TRAINING = re.compile(r"^def (?:training_step|compute_loss|train|train_\w+|update_policy)\(")
_HACK = re.compile(r"^(?P<name>[\w.]*loss\w*)\.requires_grad(?:_\((?:True)?\)|\s*=\s*True)", re.I)


def _without_graph(rows: list[Row], beside: Beside) -> Found:
    """A loss that backward is called on, and that nothing leads back from to the weights."""
    cut: dict[str, Line] = {}
    off = None  # the line of `with torch.no_grad():`, for the statement behind it
    for row in rows:
        if row.is_block:
            cut.clear()
        if (back := row.calls.get("backward")) and (at := _cut(_loss_of(back), cut, row.line)):
            return [at, row.line], written(_loss_of(back))
        if isinstance(row.one, ast.AugAssign):
            cut.pop(written(row.one.target), None)
        for target, value in bound(row.one):
            at = off or _cut(value, cut, row.line)
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                cut.pop(written(one), None)
                cut |= {written(one): at} if at else {}
        is_off = row.calls.keys() & {"no_grad", "inference_mode"}
        is_with = isinstance(row.one, ast.With)
        off = row.line if is_with and is_off else off if is_with else None
    return None


def _loss_of(back: ast.Call) -> ast.AST:
    owner = getattr(back.func, "value", None)
    return back.args[0] if back.args and _LOSS.search(written(back.args[0])) else owner


def _cut(value: ast.AST | None, cut: dict[str, Line], line: Line) -> Line | None:
    """Where the graph of a value ends, if it does."""
    while value is not None:
        if written(value) in cut:
            return cut[written(value)]
        is_call = isinstance(value, ast.Call)
        if (name_of(value.func) if is_call else getattr(value, "attr", "")) in _ENDS:
            return line
        if is_call and keyword(value, "requires_grad") and _LOSS.search(written(value)):
            return line  # a leaf of its own
        value = _within(value)
    return None


def _within(value: ast.AST) -> ast.AST | None:
    """The one thing that a value is computed from, None if there are several."""
    if isinstance(value, (ast.Attribute, ast.Subscript)):
        return value.value
    if isinstance(value, ast.UnaryOp):
        return value.operand
    if isinstance(value, ast.BinOp):
        right = written(value.right)
        return value.left if isinstance(value.right, ast.Constant) or _STEPS.search(right) else None
    if not isinstance(value, ast.Call):
        return None
    name, owner = name_of(value.func), getattr(value.func, "value", None)
    if _LOSS.search(name):
        others = [written(one) for one in value.args[1:]]
        return value.args[0] if others and all(map(_TARGET.search, others)) else None
    if not _PASSES.match(name):
        return None
    is_function = owner is None or _MODULES.match(written(owner)) or name == "scale"
    return (value.args[0] if value.args else None) if is_function else owner


def _in_a_method(rows: list[Row], beside: Beside) -> Found:
    """`@torch.no_grad()` on what computes the loss of training."""
    for above, line in pairwise(beside.words):
        if _OFF.match(above.text) and (found := _IN_TRAINING.match(line.text)):
            return [above, line], found[0].removeprefix("def ").rstrip("(")
    return None


def _made_to_need_one(rows: list[Row], beside: Beside) -> Found:
    """A loss that is told to need a gradient, which one with a graph does by itself."""
    for line in beside.words:
        if (found := _HACK.match(line.text)) and any("backward" in row.calls for row in rows):
            return [line], found["name"]
    return None


_ALONE = (
    "no gradient comes from `{}` to the weights: {}, so that backward either breaks or leaves "
    "every weight as it was"
)
_FIX = (
    "compute logits and loss of the training step with gradients on, from the model's own output "
    "to backward, without no_grad, detach(), .data, item() or a new tensor in between"
)
_RULES = (
    Rule(
        _without_graph,
        "no_gradient",
        _ALONE.format("{}", "on its way it is detached, made anew, or computed under no_grad"),
        _FIX,
    ),
    Rule(
        _in_a_method,
        "no_gradient",
        _ALONE.format("{}", "all of it runs under torch.no_grad()"),
        "take the decorator off what is trained, and keep it on evaluation and sampling",
    ),
    Rule(
        _made_to_need_one,
        "no_gradient",
        "`{}` is told to need a gradient, which silences the error and makes a leaf of it: the "
        "weights get none, since the loss was cut from them before",
        "leave requires_grad out, and find what cuts the loss off (no_grad, detach, item, a frozen "
        "adapter, checkpointing without enable_input_require_grads)",
        complaint=STANDS,
    ),
)


def wrong_in_the_graph(beside: Beside, log: Log) -> Iterator[Finding]:
    return told(beside, log, _RULES)
