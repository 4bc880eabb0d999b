"""Rows that are numbered, shuffled, and then looked up by their old number."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds

_NUMBER = re.compile(
    r"^(?:(?:row|sample|prompt|example|data|item|orig|question|problem)_?)?"
    r"(?:idx|ix|index|id|i|no|pos|num)$",
    re.IGNORECASE,
)
_MOVES = {"shuffle", "sort", "train_test_split", "sort_values", "sample", "permutation"}
_DROPS = {"filter", "select", "dropna", "drop_duplicates"}
_ANSWER = re.compile(
    r"^(?:\w+_)?(?:answers?|gold|labels?|targets?|solutions?|ground_?truths?|gts?|references?|"
    r"tests?|test_cases|expected)$",
    re.IGNORECASE,
)
LOW = 0.3  # a mean reward
OTHER_ROWS = (
    "rows get their number before {what}, and that number is then a place in what came out of it: "
    "{where} reads the row that stands there now, so that a reply is compared with the answer of "
    "another prompt. What is earned is earned by chance, where two answers are alike"
)
CARRY = (
    "carry the answer along with its sample, or look it up by a key and not by a place; or number "
    "the rows behind the last {what}. Assert that the row that is read has the sample's prompt"
)


def looked_up_by_an_old_number(beside: Beside, log: Log) -> Iterator[Finding]:
    """A column of numbers, then a shuffle of the same rows, then a place in them by that number."""
    numbered: dict[str, tuple[Line, str]] = {}  # by the rows: where, and the column's name
    moved: dict[str, tuple[Line, str]] = {}  # by the rows: where, and how
    for line, one in statements(beside):
        for name, column in _numbers(one):
            numbered[name] = (line, column)
            moved.pop(name, None)
        for rows, name, how in _moved(one):
            if rows in numbered and (name not in moved or moved[name][1] in _DROPS):
                numbered[name] = numbered[rows]
                moved[name] = (line, how)
        for name, text in _looked_up(one, moved):
            column = numbered[name][1]
            if not _is_used(beside, column):
                continue
            (first, _), (second, how) = numbered[name], moved[name]
            lines = list(dict.fromkeys((first, second, line)))
            proof = [at.says for at in lines]
            proof += _rewards(log)
            why = OTHER_ROWS.format(what=f"{how}()", where=text)
            advice = CARRY.format(what=how)
            weight = 6.4 if how in _DROPS else 8.8  # of those nothing may have been left out
            yield Finding("reward_of_other_row", weight, line, tuple(proof), why=why, advice=advice)
            return


def _numbers(one: ast.stmt) -> Iterator[tuple[str, str]]:
    """Rows that get a column of their own places: by map with_indices, add_column(range), by
    enumerate, or df["idx"] = range(...)."""
    target = name_of(one.targets[0]) if isinstance(one, ast.Assign) else ""
    if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript):
        column, rows = one.targets[0].slice, name_of(one.targets[0].value)
        named = isinstance(column, ast.Constant) and _NUMBER.match(str(column.value))
        if named and any(name_of(call.func) in ("range", "arange") for call in calls(one.value)):
            yield rows, str(column.value)
    for call in calls(one) if target else ():
        how = name_of(call.func)
        inside = one.value if how == "enumerate" else call
        texts = [n.value for n in ast.walk(inside) if isinstance(n, ast.Constant)]
        texts += [n.arg for n in ast.walk(inside) if isinstance(n, ast.keyword)]
        column = next((t for t in texts if isinstance(t, str) and _NUMBER.match(t)), "")
        is_counted = how == "map" and any(k.arg == "with_indices" for k in call.keywords)
        is_added = how == "add_column" and any(name_of(c.func) == "range" for c in calls(call))
        if column and (is_counted or is_added or how == "enumerate"):
            yield target, column


def _moved(one: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """Rows that are put into another order, or of which some are left out, and their new name."""
    target = name_of(one.targets[0]) if isinstance(one, ast.Assign) else ""
    for call in calls(one):
        how = name_of(call.func)
        if how not in _MOVES | _DROPS:
            continue
        held = name_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        given = name_of(call.args[0]) if call.args else ""
        if target and held:
            yield held, target, how
        elif not target and how == "shuffle" and given:
            yield given, given, how


def _looked_up(one: ast.stmt, moved: dict[str, tuple[Line, str]]) -> Iterator[tuple[str, str]]:
    """rows[ix]["answer"], or rows["answer"][ix], where ix is a name that stands for a number."""
    for node in ast.walk(one):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Subscript):
            continue
        rows, keys = node.value.value, (node.value.slice, node.slice)
        name = name_of(rows.value if name_of(rows) in ("iloc", "values") else rows)
        columns = [k.value for k in keys if isinstance(k, ast.Constant)]
        places = [k for k in keys if not isinstance(k, ast.Constant | ast.Slice)]
        is_answer = any(isinstance(c, str) and _ANSWER.match(c) for c in columns)
        if name in moved and is_answer and len(places) == 1 and _is_number(places[0]):
            yield name, ast.unparse(node)


def _is_number(node: ast.expr) -> bool:
    names = [name_of(one) for one in ast.walk(node)]
    texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return any(
        _NUMBER.match(str(one)) or str(one).endswith(("_ix", "_idx")) for one in [*names, *texts]
    )


def _is_used(beside: Beside, column: str) -> bool:
    """Whether the column of numbers is read anywhere."""
    read = re.compile(rf"(?:\[|\.get\(|itemgetter\()\s*['\"]{re.escape(column)}['\"]|\.{column}\b")
    return beside.matching(read) is not None


def _rewards(log: Log) -> list[str]:
    levels = thirds(log.values("reward"))
    if levels is None or max(levels) > LOW:
        return []
    return [f"the reward stays low: {listed(levels)} by thirds of the log"]
