"""Replies in the order of a rank or a score, as code puts them, and the one at an end of it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from course_utils.explain.paste.code import last_number, name_of
from course_utils.explain.paste.entries import Line

_LOW_IS_GOOD = re.compile(
    r"(?<![a-z])(?:rank(?:ing)?s?|place|loss|ppl|perplexity|errors?|distance)(?![a-z])"
)
_HIGH_IS_GOOD = re.compile(
    r"(?<![a-z])(?:scores?|rewards?|ratings?|stars|votes|up_?votes|quality|"
    r"reward_model|rm|helpfulness|accuracy|correct)(?![a-z])"
)
_OF_EITHER = re.compile(r"cost|risk|unsafe|bad|similar|overlap|dup|uncertain|novel|hard|difficul")
_ENDS = {"min": "low", "max": "high", "argmin": "low", "argmax": "high", "idxmin": "low"}
_ENDS |= {"idxmax": "high", "nsmallest": "low", "nlargest": "high"}


@dataclass(frozen=True)
class Order:
    """Replies in the order of a quantity, or (`end`) the one at an end of it."""

    quantity: str
    is_rising: bool
    line: Line
    end: str = ""  # low or high


@dataclass
class Orders:
    known: dict[str, Order] = field(default_factory=dict)

    def of(self, node: ast.AST, line: Line) -> Order | None:
        """What an expression holds of an order."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Attribute):
            return self.of(node.value, line)
        if isinstance(node, ast.Subscript):
            return self._within(node, line)
        if isinstance(node, ast.Call):
            return _of_call(node, line) or self._through(node, line)
        return None

    def _within(self, node: ast.Subscript, line: Line) -> Order | None:
        whole, at = self.of(node.value, line), last_number(node.slice)
        if whole is not None and at in (0, -1) and not whole.end:
            low = whole.is_rising == (at == 0)
            return Order(whole.quantity, whole.is_rising, whole.line, "low" if low else "high")
        if whole is not None and whole.end:
            return whole  # a field of the reply
        if whole is not None and isinstance(node.slice, ast.Slice):
            step = last_number(node.slice.step)
            return replace(whole, is_rising=not whole.is_rising) if step == -1 else whole
        index = self.of(node.slice, line)
        return index if index and index.end else None

    def _through(self, node: ast.Call, line: Line) -> Order | None:
        """A list or a tuple of it, or a method that leaves its order."""
        if name_of(node.func) in ("list", "tuple", "int", "str") and node.args:
            return self.of(node.args[0], line)
        keeps = ("reset_index", "tolist", "to_dict", "item", "strip", "get", "tail", "head")
        if isinstance(node.func, ast.Attribute) and node.func.attr in keeps:
            return self.of(node.func.value, line)
        return None


def sense_of(quantity: str) -> str:
    """Which end of a quantity is the better one, by its name; "" where that does not tell.

    >>> sense_of("rank"), sense_of("rm_score"), sense_of("loss_score"), sense_of("length")
    ('low', 'high', '', '')
    """
    if _OF_EITHER.search(quantity.lower()):
        return ""
    low, high = (one.search(quantity.lower()) for one in (_LOW_IS_GOOD, _HIGH_IS_GOOD))
    return "" if bool(low) == bool(high) else "low" if low else "high"


def sorted_in_place(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`replies.sort(...)` is `replies = sorted(...)`, and so with reverse()."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call.func.attr == "sort":
            yield call.func.value, call
        if call.func.attr == "reverse":
            turned = ast.parse("replies[::-1]", mode="eval").body
            turned.value = call.func.value
            yield call.func.value, turned


def _of_call(node: ast.Call, line: Line) -> Order | None:
    made, given = name_of(node.func), {one.arg: one.value for one in node.keywords}
    if made in ("sorted", "sort", "sort_values", "argsort"):
        if (key := _key(node, given)) is None:
            return None
        quantity, turns = key
        falls = any(_is(given.get(name), True) for name in ("reverse", "descending"))
        falls = falls or _is(given.get("ascending"), False)
        return Order(quantity, falls == turns, line)
    if made == "index" and node.args and isinstance(node.args[0], ast.Call):
        value = node.args[0]  # rewards.index(max(rewards))
        quantity = _quantity(value.args[0]) if len(value.args) == 1 else ""
        if quantity and name_of(value.func) in ("min", "max"):
            return Order(quantity, True, line, _ENDS[name_of(value.func)])
    if made in _ENDS and (key := _key(node, given)) is not None:
        quantity, turns = key
        is_low = (_ENDS[made] == "low") != turns
        return Order(quantity, True, line, "low" if is_low else "high")
    return None


def _key(node: ast.Call, given: dict) -> tuple[str, bool] | None:
    """The quantity that is sorted by, and whether a minus turns its order round."""
    key = given.get("key") or given.get("by")
    made = name_of(node.func)
    if key is None and made == "sort_values" and node.args:
        key = node.args[0]
    if key is None and made in ("argmin", "argmax", "argsort", "idxmin", "idxmax"):
        is_method = isinstance(node.func, ast.Attribute)
        of_module = is_method and name_of(node.func.value) in ("np", "torch", "numpy", "jnp")
        key = node.func.value if is_method and not of_module else next(iter(node.args), None)
    if key is None:
        return None
    if isinstance(key, ast.Call) and name_of(key.func) == "itemgetter" and key.args:
        key = key.args[0]
    body = key.body if isinstance(key, ast.Lambda) else key
    turns = isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub)
    body = body.operand if turns else body
    quantity = _quantity(body)
    return (quantity, turns) if quantity else None


def _quantity(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.Subscript):
        return _quantity(node.slice) or (_quantity(node.value) if _has_sense(node.value) else "")
    if isinstance(node, ast.Call) and name_of(node.func) in ("float", "int") and node.args:
        return _quantity(node.args[0])
    if isinstance(node, ast.Call) and name_of(node.func) == "get" and node.args:
        return _quantity(node.args[0])
    return name_of(node)


def _has_sense(node: ast.AST) -> bool:
    return bool(sense_of(name_of(node)))


def _is(node: ast.AST | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
