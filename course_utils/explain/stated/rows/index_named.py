"""Pairs by the number of the better reply, which a truth value takes the other way round."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_NUMBER_OF = re.compile(r"(?:better|preferred|best|chosen|safer|winner)\w*(?:id|idx|index|label)?$")
_ENDS_IN = re.compile(r"[_a-z](?P<n>[01])$")
SURE = 9.2
TURNED = (
    "the pairs are turned round: {column} is the number of the better reply, so that 1 names the "
    "second one, and the code takes reply {taken} where it is 1. The run learns to prefer the "
    "worse replies, and an evaluation on pairs that are made in the same way looks perfect"
)
BY_NUMBER = (
    "chosen = row[f'response_{row[\"better_response_id\"]}'], or exchange the two; read ten pairs, "
    "and begin again from the model before this run"
)


def taken_by_truth(beside: Beside, log: Log) -> Iterator[Finding]:
    """`chosen = r["response_0"] if r["better_response_id"] else r["response_1"]`."""
    held: dict[str, tuple[str, Line]] = {}
    for line, statement in statements(beside):
        for target, value in bound(statement):
            if column := _column(value):
                held[name_of(target)] = (column, line)
            found = _taken(value) if re.search("chosen|winner", name_of(target)) else None
            if found is None:
                continue
            test, taken = found
            column, at = held.get(test, (test, line))
            if (
                taken == "0"
                and _NUMBER_OF.search(column)
                and column.endswith(("id", "idx", "index"))
            ):
                proof = dict.fromkeys((at.says, line.says))
                why = TURNED.format(column=column, taken=taken)
                yield Finding("pairs_inverted", SURE, line, tuple(proof), why=why, advice=BY_NUMBER)
                return


def _column(value: ast.expr) -> str:
    """The column that `row["column"]` takes; or ""."""
    match value:
        case ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""


def _taken(value: ast.expr) -> tuple[str, str] | None:
    """What a conditional asks, and the number of the reply that it takes where that is true."""
    match value:
        case ast.IfExp(test=test, body=ast.Subscript(slice=ast.Constant(str(name)))):
            number = _ENDS_IN.search(name)
            return (name_of(test) or _column(test), number["n"]) if number else None
    return None
