"""Rows that are multiplied or taken apart first and split afterwards: one source on both sides."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.rows.rows_of_one_source import falls_elsewhere, of_fewer

_COPIES = re.compile(
    r"augment|(?:^|_)aug(?:_|s?$)|paraphras|rephras|back_?trans|variants?|expand|oversampl|permut|"
    r"duplicat|_x\d+$|synonym|perturb|rewrite",
    re.IGNORECASE,
)
_TAKES_APART = ("explode", "split_documents", "create_documents")
_PARTS_OF = re.compile(r"^(?:chunk|split_|window|sliding|segment)")
_JOINS = ("concatenate_datasets", "concat", "chain", "fit_resample", "extend", "vstack")
_SPLITS = ("train_test_split", "random_split", "ShuffleSplit", "KFold", "StratifiedShuffleSplit")
_SPLITS += ("StratifiedKFold", "sample")
_BY_GROUP = re.compile(
    r"\bGroup(?:Shuffle)?\w*(?:Split|KFold)\b|\bgroups? ?=|\bsplit_by_\w*(?:id|doc|user|group)",
    re.I,
)
_BY_SOURCE = re.compile(
    r"\bGroup(?:Shuffle)?(?:Split|KFold)|\bGroupShuffleSplit|\bStratifiedGroup|\bLeave\w*Group|"
    r"\bgroups?\s*=|\bisin\(|\b(?:unique|drop_duplicates)\(\)?.*\btrain_test_split|"
    r"\btrain_test_split\([^)]*(?:\bids?\b|_ids?\b|unique|\bdocs?\b|documents|tickets|users)",
)
_LITERAL = re.compile(r"==\s*(?P<q>['\"])(?P<id>[^'\"]+)(?P=q)|==\s*(?P<n>\d+)")
_HELD = re.compile(r"test|eval|val|dev|held", re.IGNORECASE)
_GROUPS = re.compile(r"\.nunique\(\)|\.unique\(\)")
SURE, LIKELY = 9.0, 7.6
BOTH_SIDES = (
    "the rows are split after they were multiplied ({how}): what was made of one row falls on both "
    "sides, so that the evaluation asks for rows whose siblings were trained on. Its numbers are "
    "those of rows that are known, and say nothing of new ones"
)
SPLIT_FIRST = (
    "split the rows as they were first, by what the copies have in common (an id, a document), and "
    "multiply the training part alone; evaluate the checkpoints again, and choose among them by "
    "that. A fall on new rows is then no drift"
)


class _Made(NamedTuple):
    line: Line
    how: str
    is_copied: bool  # or taken apart, of which a split by row is a fault where that is shown


def split_after_copies(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code in which a name holds multiplied rows, and is split by rows after that."""
    if beside.matching(_BY_GROUP):
        return
    made: dict[str, _Made] = {}
    loop: _Made | None = None
    for line, one in statements(beside):
        found = _split(one, made)
        if found is not None and (told := _finding(beside, log, found, line)):
            yield told
            return
        if isinstance(one, ast.For):
            how, copies = _takes_apart(one), _over(one, _COPIES)
            loop = _Made(line, copies or how, bool(copies)) if copies or how else loop
        elif loop and (name := _grown(one)):
            made[name] = loop
        for target, value in bound(one):
            copied = _multiplies(value, beside)
            how, before = copied or _takes_apart(value), _made_of(value, made)
            new = _Made(line, how, bool(copied)) if how else before
            for name in filter(None, map(name_of, getattr(target, "elts", [target]))):
                made.pop(name, None)
                if new:
                    made[name] = new


def _finding(beside: Beside, log: Log, made: _Made, line: Line) -> Finding | None:
    both, lines = _in_both(beside), sorted((line for line in beside.words), key=place)
    lower, fewer = falls_elsewhere(lines, log), of_fewer(lines)
    if not made.is_copied and (not lower or beside.matching(_BY_SOURCE)):
        return None
    shown = dict.fromkeys([made.line, line, *both])
    proof = [one.says for one in shown]
    why = BOTH_SIDES.format(how=made.how)
    weight = SURE if both or (fewer and lower) else LIKELY
    told = (*proof, *fewer, *lower)
    return Finding("rows_in_both", weight, line, told, why=why, advice=SPLIT_FIRST)


def _split(statement: ast.stmt, made: dict[str, _Made]) -> _Made | None:
    """The multiplied rows that a call, or a cut for the evaluation, splits; else None."""
    for target, value in bound(statement):
        is_cut = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
        if is_cut and _HELD.search(name_of(target)):
            return _made_of(value, made)
    for call in calls(statement):
        by_share = any(one.arg == "frac" for one in call.keywords)
        if name_of(call.func) not in _SPLITS or (name_of(call.func) == "sample" and not by_share):
            continue
        of = [*call.args[:2], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        if found := next((one for node in of if (one := _made_of(node, made))), None):
            return found
    return None


def _made_of(node: ast.AST, made: dict[str, _Made]) -> _Made | None:
    """How the first name in it that holds multiplied rows was made."""
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    return next((made[name] for name in names if name in made), None)


def _multiplies(value: ast.expr, beside: Beside) -> str:
    """What makes several rows of one: a map over batches, a join with copies, a row for each of a
    list; "" if nothing does."""
    for call in calls(value):
        name = name_of(call.func)
        given = " ".join(ast.unparse(one) for one in call.args)
        if name == "explode" and beside.matching(_GROUPS):
            return "explode"
        if name in ("map", "flat_map", "apply") and _COPIES.search(given.split("(")[0]):
            is_several = name == "flat_map" or any(one.arg == "batched" for one in call.keywords)
            if is_several:
                return f"{name} of {given[:40]}"
        if name in _JOINS and _COPIES.search(ast.unparse(call)):
            return f"{name} with copies"
    if isinstance(value, ast.ListComp) and len(value.generators) > 1:
        inner = value.generators[-1].iter
        if isinstance(inner, ast.Call) and _COPIES.search(name_of(inner.func)):
            return f"{name_of(inner.func)} of each row"
    return ""


def _takes_apart(value: ast.AST) -> str:
    """What makes rows of the parts of one document; "" if nothing does."""
    for call in calls(value):
        if name_of(call.func) in _TAKES_APART:
            return name_of(call.func)
        if any(one.arg == "return_overflowing_tokens" for one in call.keywords):
            return "return_overflowing_tokens"
    return _over(value, _PARTS_OF)


def _over(value: ast.AST, pattern: re.Pattern) -> str:
    """The call of such a name whose results a loop goes through; or ""."""
    loops = (one for one in ast.walk(value) if isinstance(one, ast.For | ast.comprehension))
    over = (name_of(one.func) for loop in loops for one in calls(loop.iter))
    return next((name for name in over if pattern.search(name)), "")


def _grown(statement: ast.stmt) -> str:
    """The list to which a statement adds a row."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_such = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    return name_of(call.func.value) if is_such and call.func.attr in ("append", "extend") else ""


def _in_both(beside: Beside) -> list[Line]:
    """A line that asks the training rows for one id, and one that asks the others for it."""
    found: dict[str, dict[str, Line]] = {}
    for line in beside.words:
        if one := _LITERAL.search(line.text):
            side = "train" if "train" in line.text.lower() else "held"
            found.setdefault(one["id"] or one["n"], {}).setdefault(side, line)
    both = next((sides for sides in found.values() if len(sides) > 1), {})
    return list(both.values())
