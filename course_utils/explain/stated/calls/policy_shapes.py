"""One number a row minus a column of one number a row: a table of all rows against all rows."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_SHAPE = re.compile(
    r"\b(?P<name>[A-Za-z_][\w.]*)\s*(?:\.shape|\.size\(\))?\W{0,4}(?:shape\W{0,3})?"
    r"(?:torch\.)?(?:Size\(\[(?P<size>[\d,\s]+)\]\)|\((?P<tuple>\d+,(?:\s*\d+)?)\)|"
    r"\[(?P<list>\d+(?:,\s*\d+)*)\])"
)
_FLAT = re.compile(r"squeeze|view\(|reshape\(|flatten|\[:, 0\]|\[\.\.\., 0\]|unsqueeze|None\]")
SPREAD = (
    "`{code}` takes a column ({column}: {n} x 1) from a row of numbers ({row}: {n}), which torch "
    "spreads over {n} x {n}: each row meets the number of every other one, and the mean over them "
    "is the same for all rows. So nothing is left of what tells one reply from another"
)
SQUEEZE = (
    "{column}.squeeze(-1) in that line, as where it is right already, and an assert that both "
    "shapes and that of the result are equal; what is logged of the baseline or the rate is sound"
)
SHOWN = 9.0


def spread_over_all_rows(beside: Beside, log: Log) -> Iterator[Finding]:
    """A sum or difference of two names whose printed shapes are [n] and [n, 1]."""
    shapes, at = _shapes(beside)
    for line, statement in statements(beside) if len(shapes) > 1 else ():
        for _, value in bound(statement):
            if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Sub | ast.Add):
                continue
            if _FLAT.search(line.text):
                continue
            names = [_name(one) for one in (value.left, value.right)]
            row = next((one for one in names if len(shapes.get(one, ())) == 1), "")
            column = next((one for one in names if len(shapes.get(one, ())) == 2), "")
            if not row or not column or shapes[column] != (shapes[row][0], 1):
                continue
            if shapes[row][0] < 2:
                continue
            told = {"code": ast.unparse(value), "row": row, "column": column}
            why = SPREAD.format(n=shapes[row][0], **told)
            proof = tuple(dict.fromkeys((line.says, at[row].says, at[column].says)))
            advice = SQUEEZE.format(column=column)
            yield Finding("labels_shape", SHOWN, line, proof, why=why, advice=advice)
            return


def _shapes(beside: Beside) -> tuple[dict[str, tuple[int, ...]], dict[str, Line]]:
    """The printed shape of each name, and where."""
    shapes, at = {}, {}
    for line in beside.words:
        for found in _SHAPE.finditer(line.text):
            numbers = found["size"] or found["tuple"] or found["list"]
            name = found["name"].removesuffix(".shape")
            shapes.setdefault(name, tuple(int(n) for n in re.findall(r"\d+", numbers)))
            at.setdefault(name, line)
    return shapes, at


def _name(node: ast.expr) -> str:
    """The name of a value, also of `b.detach()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("detach", "float", "cpu", "clone", "to"):
            return ""
        node = node.func.value
    return name_of(node)
