"""A difference of log-probs as the KL term of a loss: k1, whose gradient is 0 in the mean."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_REFERENCE = re.compile(r"(?:^|_)(?:ref|reference|sft|base|init|initial)(?:_|$)", re.IGNORECASE)
_LOG_PROB = re.compile(r"log_?p|logits?|^lp|lp$", re.IGNORECASE)
_TYPE = re.compile(
    r"\bkl[-_](?:loss[-_]type|estimator|type|penalty_type)['\"]?(?:\s*[:=]\s*|\s+)['\"]?"
    r"(?P<form>k1|kl)\b(?!\+)",
    re.IGNORECASE,
)
_IN_THE_LOSS = re.compile(r"\buse[-_]kl[-_]loss\b(?!['\"]?\s*[:=]\s*['\"]?false)", re.IGNORECASE)
_UNBIASED = re.compile(
    r"\buse[-_]unbiased[-_]kl\b|kl_loss_coef['\"]?\s*[:= ]\s*0(?:\.0*)?(?![\d.])"
)
_WEIGHED = re.compile(
    r"(?<!log)(?<!log_)ratio|importance|is_weight|^(?:is|iw|tis|rho)(?:_|$)", re.IGNORECASE
)
_CUT = {"detach", "item", "no_grad"}
_KEPT = re.compile(r"mean|sum|avg|agg|reduce|^(?:float|to|clamp|clip|nan_to_num|(?:un)?squeeze)$")
K1 = (
    "the KL term of the loss is the plain difference of the log-probs (k1). Its value measures the "
    "KL, but the reference in it is a constant, and the gradient that is left, that of the "
    "policy's own log-probs, is 0 in the mean over its samples: the term adds noise and pulls "
    "nowhere, whatever its coefficient"
)
K3 = (
    "k3 in the loss, exp(d) - d - 1 with d = ref_logp - logp (low_var_kl in verl), or k2, "
    "d**2 / 2; or take coefficient times the detached difference from the reward. Compare the KL "
    "at two coefficients: they must differ"
)


def plain_difference_in_the_loss(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that adds a mean of logp - ref_logp to a loss, or a setting that asks for it."""
    found = _in_code(beside) or _in_settings(beside)
    if not found:
        return
    proof = tuple(line.says for line in found)
    yield Finding("kl_without_effect", 8.6, found[0], proof, why=K1, advice=K3)


def _in_code(beside: Beside) -> list[Line]:
    """The line of the difference, and that of the loss with it."""
    plain: dict[str, Line] = {}  # names that hold the difference, or a mean of it
    for line, one in statements(beside):
        for target, value in bound(one):
            name = name_of(target)
            if not name:
                continue
            is_loss = "loss" in name.lower() or name in ("total", "objective")
            if is_loss and (held := _adds(value, plain)):
                return [plain[held], line]
            if "reward" in name.lower() and _holds(value, plain):
                return []  # where it belongs
            if _is_difference(value) or (not is_loss and _holds(value, plain)):
                plain[name] = next((plain[n] for n in _names(value) if n in plain), line)
            else:
                plain.pop(name, None)
        is_added = isinstance(one, ast.AugAssign) and "loss" in name_of(one.target).lower()
        if is_added and (held := _holds(one.value, plain)):
            return [plain[held], line]
    return []


def _is_difference(node: ast.AST) -> bool:
    """logp - ref_logp, or the other way round, with the policy's log-probs attached."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    names = [_whole_name(side) for side in (node.left, node.right)]
    if not all(names) or not all(_LOG_PROB.search(name) for name in names):
        return False
    of_reference = [bool(_REFERENCE.search(name)) for name in names]
    return sum(of_reference) == 1 and not any("old" in name for name in names)


def _whole_name(node: ast.AST) -> str:
    """A name, or that of a column: of `mb["ref_logp"]` it is ref_logp."""
    if isinstance(node, ast.Subscript):
        inner = node.slice
        is_text = isinstance(inner, ast.Constant) and isinstance(inner.value, str)
        return inner.value if is_text else name_of(node.value)
    return name_of(node)


def _adds(value: ast.AST, plain: dict[str, Line]) -> str:
    """The name of a difference that is one of several terms of a sum."""
    is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub)
    return _holds(value, plain) if is_sum else ""


def _holds(value: ast.AST, plain: dict[str, Line]) -> str:
    """The name of a difference that stands in an expression as it is; "" if nothing does."""
    names = list(_names(value))
    held = next((name for name in names if name in plain), "")
    called = [name_of(call.func) for call in calls(value)]
    if not held or _CUT & set(names) or not all(map(_KEPT.search, called)):
        return ""  # of anything else it may be another estimate
    if any(map(_WEIGHED.search, _by(value))):
        return ""
    is_power = any(isinstance(one, ast.Pow) for one in ast.walk(value))
    return "" if is_power else held


def _by(value: ast.AST) -> Iterator[str]:
    """The names in products with a difference: an importance weight gives it a gradient."""
    for one in ast.walk(value):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
            yield from (name for side in (one.left, one.right) if (name := _whole_name(side)))


def _names(value: ast.AST) -> Iterator[str]:
    return (name for node in ast.walk(value) if (name := name_of(node)))


def _in_settings(beside: Beside) -> list[Line]:
    """The setting of the estimate, and the one that puts it into the loss."""
    lines = [line for line in beside.words if not is_prose(line.text)]
    kinds = [line for line in lines if _TYPE.search(line.text)]
    on = [line for line in lines if _IN_THE_LOSS.search(line.text)]
    if not kinds or not on or beside.matching(_UNBIASED):
        return []
    return list(dict.fromkeys((kinds[-1], on[-1])))
