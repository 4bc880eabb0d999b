"""A term of the loss that is summed over the rows of a micro-batch, beside one that is a mean."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_FIXED = re.compile(
    r"^max_\w*(?:len(?:gth)?|tokens)$|^(?:resp\w*|seq\w*|generation|completion)_?(?:max_?)?len(?:gth)?$|"
    r"^MAX_\w*LEN\w*$",
    re.IGNORECASE,
)
_ROWS = re.compile(
    r"shape|size|len\(|numel|num_seqs|batch_size|micro_?bs|n_seqs|num_rows|mbs\b", re.I
)
_MICRO = re.compile(r"micro|\bmbs?\b|accum|\.split\(|\.chunk\(", re.IGNORECASE)
_ACCUMULATED = re.compile(r"/\s*\(?\s*[\w.]*(?:accum|micro|n_mb|num_mb|grad_acc)\w*", re.IGNORECASE)
_BACKWARD = re.compile(r"\.backward\(|\bbackward\(")
_SIZE = re.compile(r"^(?:micro_?(?:bs|batch(?:_?size)?)|mbs|per_device\w*|mb)$", re.IGNORECASE)
_ROW_COUNT = re.compile(
    r"\b(?:micro_?(?:bs|batch(?:_?size)?)\w*|mbs?|per_device_train_batch_size)\W{1,3}(?P<n>\d+)\b",
    re.IGNORECASE,
)
_OF_THE_LOSS = re.compile(r"loss|\bpg|gn\b|gn_|gnorm|grad|norm", re.IGNORECASE)
LARGE, FEW, NEAR = 256, 3, 0.1  # a constant that is a length; rows; of a ratio
SUMMED = (
    "{name} is summed over the rows of a micro-batch and divided by a length that is the same for "
    "all, and then by the number of micro-batches: nothing divides it by the number of rows, so "
    "that its gradient grows with the micro-batch{other}. The micro-batch is then no setting of "
    "speed alone"
)
BESIDE_A_MEAN = (
    ", while {mean} is a mean: their weights against each other are others with each micro-batch"
)
DIVIDE = (
    "divide {name} by the number of rows too (or sum all terms, and divide by what belongs to the "
    "whole batch: its rows or its tokens); then the gradient of one batch must be the same however "
    "it is split, and a coefficient that was tuned before is to be tuned anew"
)


def summed_over_rows(beside: Beside, log: Log) -> Iterator[Finding]:
    """Such code in a loop over micro-batches, or a table in which a term goes with their size."""
    table, code = _table(beside, log), _in_code(beside)
    if not table and not code:
        return
    name, mean, proof = "the policy's term", "", []
    at: Line | Entry | None = None
    if code:
        at, name, mean, shown = code
        proof += [line.says for line in shown]
    if table:
        where, told, column = table
        at, name = at or where, name if code else column
        proof += told
    other = BESIDE_A_MEAN.format(mean=mean) if mean else ""
    why, advice = SUMMED.format(name=name, other=other), DIVIDE.format(name=name)
    weight = 9.2 if table and code else 7.4
    if not code:
        why, advice = "", ""
    yield Finding("split_changes_loss", weight, at, tuple(proof), why=why, advice=advice)


def _in_code(beside: Beside) -> tuple[Line, str, str, list[Line]] | None:
    """The sum by a fixed length, a mean beside it, and the line that divides by micro-batches."""
    summed: tuple[Line, str] | None = None
    mean: tuple[Line, str] | None = None
    is_micro = beside.matching(_MICRO) is not None
    for line, one in statements(beside) if is_micro else ():
        for target, value in bound(one):
            name = name_of(target)
            if "loss" not in name.lower() or _ROWS.search(ast.unparse(value)):
                continue
            if _is_sum_by_length(value):
                summed = (line, name)
            elif _is_mean(value):
                mean = (line, name)
    divided = [
        line
        for line in beside.words
        if _ACCUMULATED.search(line.text) and ("loss" in line.text or _BACKWARD.search(line.text))
    ]
    divided = [line for line in divided if not _ROWS.search(line.text.partition("#")[0])]
    if not summed or not divided or _one_row_each(beside):
        return None
    shown = [summed[0], *([mean[0]] if mean else []), divided[-1]]
    return summed[0], summed[1], mean[1] if mean else "", list(dict.fromkeys(shown))


def _one_row_each(beside: Beside) -> bool:
    """Whether a micro-batch is said to be one row, and never to be more."""
    sizes = {int(_ROW_COUNT.search(words)["n"]) for _, words in beside.all_matching(_ROW_COUNT)}
    return sizes == {1}


def _is_sum_by_length(value: ast.expr) -> bool:
    """(...).sum() divided by a length that is set, and by nothing else."""
    node = value.operand if isinstance(value, ast.UnaryOp) else value
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    top = node.left.operand if isinstance(node.left, ast.UnaryOp) else node.left
    is_sum = isinstance(top, ast.Call) and name_of(top.func) == "sum" and not _has_axis(top)
    below = node.right
    is_constant = isinstance(below, ast.Constant) and isinstance(below.value, int | float)
    is_fixed = below.value >= LARGE if is_constant else bool(_FIXED.match(name_of(below)))
    return is_sum and is_fixed


def _has_axis(call: ast.Call) -> bool:
    """Whether a sum is over one axis alone."""
    is_method = isinstance(call.func, ast.Attribute) and name_of(call.func.value) != "torch"
    return bool(call.keywords) or len(call.args) > (0 if is_method else 1)


def _is_mean(value: ast.expr) -> bool:
    """A mean over the tokens of the micro-batch: of what is summed by the sum of a mask."""
    if any(name_of(call.func) in ("mean", "masked_mean") for call in calls(value)):
        return True
    is_ratio = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)
    sums = [name_of(c.func) for c in calls(value.right)] if is_ratio else []
    return "sum" in sums


def _table(beside: Beside, log: Log) -> tuple[Line | Entry, list[str], str] | None:
    """A table of micro-batch sizes in which one column goes with them and another does not."""
    parts = sorted((*log.entries, *(line for line in beside.words)), key=place)
    for number, part in enumerate(parts):
        names = part.text.split()
        if not names or not _SIZE.match(names[0]) or len(names) < 3:
            continue
        rows = []
        for below in parts[number + 1 :]:
            cells = below.text.split()
            if len(cells) != len(names) or not all(map(_is_number, cells)):
                break
            rows.append((below, [float(cell) for cell in cells]))
        if len(rows) < FEW or len({row[0] for _, row in rows}) < FEW:
            continue
        ratios = {n: _ratios([row for _, row in rows], n) for n in range(1, len(names))}
        sizes = [row[0] / rows[0][1][0] for _, row in rows]
        told_of = [n for n in ratios if ratios[n]]
        goes = [n for n in told_of if _OF_THE_LOSS.search(names[n]) and _near(ratios[n], sizes)]
        rests = [n for n in told_of if _near(ratios[n], [1.0] * len(rows))]
        if not goes or not rests:
            continue
        (first, low), (last, high) = rows[0], rows[-1]
        told = [
            f"{first.where} to {last.where}: {names[n]} {low[n]:g} at {names[0]} {low[0]:g} and "
            f"{high[n]:g} at {high[0]:g}"
            for n in (goes[0], rests[0])
        ]
        return first, told, names[goes[0]]
    return None


def _ratios(rows: list[list[float]], n: int) -> list[float]:
    return [row[n] / rows[0][n] for row in rows] if rows[0][n] else []


def _near(ratios: list[float], expected: list[float]) -> bool:
    return all(abs(r / e - 1) < NEAR for r, e in zip(ratios, expected, strict=True))


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", cell) is not None
