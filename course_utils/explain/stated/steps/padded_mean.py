"""A loss of the tokens with a label that is divided by all places of the batch, padding too."""

import ast
import re
from collections.abc import Iterator
from statistics import fmean, pstdev

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.columns import Row, rows_of
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_SUM = re.compile(r"^(?:\w+_)?(?:nll|loss|ce|xent)_?sum$|^(?:sum|total)_?(?:nll|loss|ce)$")
_LOSS = re.compile(r"^(?:train_?)?loss$")
_LEARNT = re.compile(
    r"^(?:n_?|num_?)?(?:reply|answer|label|target|loss|response|completion|learnt|supervised|valid|"
    r"unmasked|active|mask)_?(?:tok\w*|sum|count|labels)?s?$"
)
_ROWS = re.compile(r"^(?:b|bs|bsz|batch(?:_?size)?|rows)$")
_LENGTH = re.compile(r"^(?:t|l|len|seq_?len|s|width|max_?len|padded(?:_len)?|seq)$")
_MASK = re.compile(r"mask|labels?\b.*-100|!= ?-100|keep\b|valid", re.IGNORECASE)
_OF_ALL = re.compile(
    r"\.numel\(\)|\.size\(0\) ?\* ?\w+\.size\(1\)|\.shape\[0\] ?\* ?\w+\.shape\[1\]|"
    r"^\(?b ?\* ?[tsl]\)?$|^\(?batch_size ?\* ?seq_?len\)?$|\.nelement\(\)",
    re.IGNORECASE,
)
FEW, SAME, STEADY, APART = 4, 0.02, 0.12, 3.0  # rows; of a loss; of its mean; times that
BY_PLACES = (
    "the loss is divided by all places of the batch, its prompts and padding too, and not by the "
    "tokens that are learnt: a token counts the less, the more padding and prompt stand beside it. "
    "So the loss jumps with the lengths of a batch and is far below that of an evaluation by "
    "token, and batches with a long row or few labels teach next to nothing{steady}"
)
STEADY_BY_TOKEN = "; divided by the learnt tokens it is steady, at about {:.3g}"
BY_TOKENS = (
    "divide the sum by the number of learnt tokens, mask.sum(), counted over the whole batch (all "
    "micro-batches and processes); a larger batch or a smaller rate does not mend it, and the "
    "rate is to be looked at again, since the gradients grow"
)


def divided_by_the_padding(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows in which loss = sum / (rows x length), or code that takes such a mean."""
    table, code = _table(beside, log), _code(beside)
    if not table and not code:
        return
    at: Line | Entry = code or table[0]
    proof = [code.says] if code else []
    proof += table[1] if table else []
    steady = STEADY_BY_TOKEN.format(table[2]) if table and table[2] else ""
    weight = 9.2 if table else 7.0
    why = BY_PLACES.format(steady=steady)
    yield Finding("split_changes_loss", weight, at, tuple(proof), why=why, advice=BY_TOKENS)


def _table(beside: Beside, log: Log) -> tuple[Entry | Line, list[str], float] | None:
    """The first row, what the rows show, and the mean by token, if that is steady."""
    found = [one for row in rows_of(beside, log) if (one := _parts(row))]
    if len(found) < FEW:
        return None
    is_mean = [
        abs(loss * rows * length / total - 1) < SAME for _, total, loss, rows, length, _ in found
    ]
    if not all(is_mean) or any(rows * length <= n for *_, rows, length, n in found):
        return None
    losses, means = ([one[2] for one in found], [one[1] / one[5] for one in found if one[5]])
    row, total, loss, rows, length, _ = found[0]
    told = [
        f"{row.at.where}: {loss:g} = {total:g} / ({rows:g} x {length:g}), and likewise in all "
        f"{len(found)} rows; the loss is between {min(losses):g} and {max(losses):g}"
    ]
    is_steady = len(means) == len(found) and _spread(losses) > APART * _spread(means)
    if is_steady:
        told.append(f"the sum by learnt token: {min(means):.3g} to {max(means):.3g}")
    elif max(losses) < APART * min(losses):
        return None
    return row.at, told, fmean(means) if is_steady else 0.0


def _parts(row: Row) -> tuple[Row, float, float, float, float, float] | None:
    """Sum, loss, rows, length and learnt tokens of a row; the last is 0 where it is not given."""
    some = [row.first(one) for one in (_SUM, _LOSS, _ROWS, _LENGTH)]
    if not all(some) or any(pair[1] <= 0 for pair in some):
        return None
    learnt = row.first(_LEARNT)
    return row, *(pair[1] for pair in some), learnt[1] if learnt else 0.0


def _spread(values: list[float]) -> float:
    return pstdev(values) / fmean(values)


def _code(beside: Beside) -> Line | None:
    """A loss that is a mean over a masked product, or its sum over the number of elements."""
    masked: set[str] = set()
    for line, one in statements(beside):
        for target, value in bound(one):
            name = name_of(target)
            if _is_masked(value):
                masked.add(name)
            if "loss" in name.lower() and _is_over_all(value, masked):
                return line
    return None


def _is_masked(node: ast.AST) -> bool:
    """Whether it is a product with a mask, as `nll * mask`."""
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    parts = (node.left, node.right) if is_product else ()
    return any(_MASK.search(ast.unparse(one)) for one in parts)


def _is_over_all(node: ast.AST, masked: set[str]) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        is_all = _OF_ALL.search(ast.unparse(node.right))
        return bool(is_all) and _call_of(node.left, "sum", masked)
    return _call_of(node, "mean", masked)


def _call_of(node: ast.AST, name: str, masked: set[str]) -> bool:
    """Whether it is `(nll * mask).sum()`, of all of it and no part."""
    if not (isinstance(node, ast.Call) and name_of(node.func) == name):
        return False
    if not isinstance(node.func, ast.Attribute):
        return False
    of = node.func.value
    if name_of(of) == "torch" and node.args:
        of = node.args[0]
    elif node.args or node.keywords:
        return False
    return _is_masked(of) or name_of(of) in masked - {""}
