"""A validation loop with gradients on that keeps each loss as a tensor, and with it its graph."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import written

_FULL = re.compile(r"CUDA out of memory|\bOutOfMemoryError\b|HIP out of memory")
_OFF = re.compile(
    r"\bno_grad\b|\binference_mode\b|set_grad_enabled\(\s*False|requires_grad_\(\s*False|"
    r"@torch\.(?:no_grad|inference)",
    re.IGNORECASE,
)
_JUDGES = re.compile(r"^_?(?:\w+_)?(?:val\w*|eval\w*|test\w*|dev)(?:_\w+)?$", re.IGNORECASE)
_SETS = re.compile(r"(?:^|_|\.)(?:val\w*|eval\w*|test|dev|held\w*)(?:_|\.|$)", re.IGNORECASE)
_LOSS = re.compile(r"(?:^|[_.])(?:loss|nll|ce|logits|outputs?|out)\w*$", re.IGNORECASE)
_TAKEN_OFF = {"item", "detach", "float", "tolist", "numpy", "cpu_item", "gather_item"}
_GROWS = re.compile(
    r"\b(?:val\w*|eval\w*|test)\b.*?(?<![\d.])(?P<size>\d+(?:\.\d+)?) ?[GM]i?B?\b",
    re.IGNORECASE,
)
SURE, FEW, EVEN = 10.3, 3, 0.2  # a weight; lines; of a step
KEPT = (
    "the validation runs with gradients on (no torch.no_grad in it) and keeps each loss as a "
    "tensor (`{kept}`): with a loss its whole graph stays, the activations of every batch, so that "
    "memory grows with each batch of the validation until it is full. model.eval() switches off "
    "dropout and no gradients"
)
SWITCH_OFF = (
    "run the validation under torch.no_grad() or torch.inference_mode() (as a decorator or a "
    "with), and keep numbers, loss.item() or loss.detach(); a smaller batch or empty_cache() only "
    "moves the end"
)


def graphs_of_the_validation(beside: Beside, _log: Log) -> Iterator[Finding]:
    """Losses of a validation that are kept with their graph, where the memory ends."""
    full = beside.matching(_FULL)
    if full is None or beside.matching(_OFF):
        return
    if (found := _kept(beside)) is None:
        return
    head, line, kept = found
    grows = _growth(beside)
    proof = [head.says, line.says, *grows]
    proof.append("no line of it has no_grad or inference_mode")
    proof.append(f"{full[0].where} says: {full[1]}")
    why = KEPT.format(kept=kept)
    proof = tuple(dict.fromkeys(proof))
    yield Finding("graphs_kept", SURE, line, proof, why=why, advice=SWITCH_OFF)


def _kept(beside: Beside) -> tuple[Line, Line, str] | None:
    """The head of the validation, and the line that adds or appends a loss as it is."""
    head: Line | None = None
    plain: set[str] = set()
    for line, one in statements(beside):
        if isinstance(one, ast.FunctionDef):
            head, plain = (line if _JUDGES.match(one.name) else None), set()
        elif _begins(one):
            head = head or line
        elif _ends(one):
            head = None
        for target, value in bound(one):
            if isinstance(value, ast.Call) and name_of(value.func) in _TAKEN_OFF:
                plain.add(written(target))
        kept = _what_is_kept(one)
        if head is not None and kept is not None and written(kept) not in plain:
            return head, line, line.text.strip()
    return None


def _begins(one: ast.stmt) -> bool:
    """Whether a validation begins: a loop over its rows, or `model.eval()`."""
    is_loop = isinstance(one, ast.For) and bool(_SETS.search(written(one.iter)))
    return is_loop or _asks(one, "eval")


def _ends(one: ast.stmt) -> bool:
    """Whether it is over: by a return, a loop over other rows, or what only training calls."""
    is_loop = isinstance(one, ast.For) and "train" in written(one.iter).lower()
    return is_loop or isinstance(one, ast.Return) or _asks(one, "train", "backward", "zero_grad")


def _asks(one: ast.stmt, *names: str) -> bool:
    """Whether a statement is a call of such a method, and nothing else."""
    call = one.value if isinstance(one, ast.Expr) else None
    return isinstance(call, ast.Call) and name_of(call.func) in names


def _what_is_kept(one: ast.stmt) -> ast.expr | None:
    """What is added to a sum or appended to a list, if it is a loss or an output as it is."""
    if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add):
        value = one.value
    elif isinstance(one, ast.Assign) and isinstance(one.value, ast.BinOp):
        left, right = one.value.left, one.value.right
        is_sum = isinstance(one.value.op, ast.Add) and written(left) == written(one.targets[0])
        value = right if is_sum else None
    elif _asks(one, "append") and one.value.args:
        value = one.value.args[0]
    else:
        return None
    while isinstance(value, ast.BinOp):  # a loss over or times a number of rows
        value = value.left
    is_loss = isinstance(value, (ast.Name, ast.Attribute)) and _LOSS.search(written(value))
    return value if is_loss else None


def _growth(beside: Beside) -> list[str]:
    """Sizes of the memory that grow by the same amount from batch to batch of the validation."""
    sizes: list[tuple[Line | Entry, float]] = []
    for line in beside.words:
        if found := _GROWS.search(line.text):
            sizes.append((line, float(found["size"])))
    steps = [now - before for (_, before), (_, now) in pairwise(sizes)]
    if len(sizes) < FEW or min(steps) <= 0 or max(steps) - min(steps) > EVEN * max(steps):
        return []
    (first, low), (last, high) = sizes[0], sizes[-1]
    each = sum(steps) / len(steps)
    return [
        f"memory grows by {each:.3g} a batch: {low:g} at {first.where}, {high:g} at {last.where}"
    ]
