"""The names of classes in two orders: numbered in one, and named by another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.stated.rows.label_maps import ONE_MAP

_LIST = re.compile(r"[\[(]\s*((?:['\"][^'\"\n]{1,40}['\"]\s*,\s*){2,}['\"][^'\"\n]{1,40}['\"])")
_NAME = re.compile(r"['\"]([^'\"\n]{1,40})['\"]")
_BY_NUMBER = re.compile(r"['\"]?\b(?P<n>\d{1,3})['\"]?\s*:\s*['\"](?P<name>[^'\"\n]{1,40})['\"]")
_BY_NAME = re.compile(r"['\"](?P<name>[^'\"\n]{1,40})['\"]\s*:\s*(?P<n>\d{1,3})\b(?!\.)")
_NUMBERED = re.compile(r"^\s*(?P<n>\d{1,3})[\s:.)=]+(?P<name>[A-Za-z][\w-]*)\s*$")
_NO_CLASSES = re.compile(
    r"modules?\b|columns?\b|_proj\b|\b(?:target|stop|tools?|files?|paths?|special|datasets?|splits?|"
    r"metrics?|keys|layers?)(?![a-z])",
    re.IGNORECASE,
)
_FOLDERS = re.compile(r"^\s*(?:\$|>|!)\s*.*\bls\b")
_WORD = re.compile(r"^\s*(?P<name>[A-Za-z][\w-]*)/?(?:\s+\d[\d,]*)?\s*$")
_RATE = re.compile(r"(?<![\d.\w])(?P<n>[01]\.\d+)(?![\d.]*e)")
_OF_HITS = re.compile(r"\b(?:\w*acc(?:uracy)?|agree\w*|recall|hits?|right|correct)\b|_acc", re.I)
_OF_ALL = re.compile(r"^\s*(?:all|total|overall|micro|macro)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\{\s*((?:\d{1,2}\s*:\s*\d+\s*,\s*){2,}\d{1,2}\s*:\s*\d+)\s*\}")
_BIAS = re.compile(
    r"\b(?:mean|bias|avg)\b.{0,20}?\b(?:pred\w*|gold|label\w*|diff\w*)\b.{0,20}?"
    r"(?P<n>[-+]?[01]\.\d+)",
    re.IGNORECASE,
)
FEWEST, HIGH, LOW = 3, 0.7, 0.6  # names; an accuracy; of that one
TWO_ORDERS = (
    "the classes are numbered in one order and named by another: {where}. {fixed} So a model that "
    "is right says the name of another class, and is as sure of it; neither the number format, the "
    "weights of the classes nor the rows are to blame"
)
SOME = "Only {names} {has} the same number in both."
NONE = "No class has the same number in both."
BY_ONE = (
    "the classes are counted from {ours} where the model answers and from {theirs} where its "
    "answers are judged: every answer is taken for its neighbour. An answer that is one below is "
    "the right one, and neither those who labelled nor the loss are to blame"
)
ADD_ONE = (
    "take the shift out where answers are judged (argmax {by:+d}, or one map for both), count the "
    "answers again, and judge the model only then; it need not be trained anew"
)


@dataclass(frozen=True)
class _Order:
    line: Line
    names: tuple[str, ...]


def names_in_two_orders(beside: Beside, log: Log) -> Iterator[Finding]:
    """Two lists of the same names in different orders, and an accuracy that fell between."""
    lines = beside.words
    low = _fell(lines, log)
    if low is None:
        return
    for one, other in combinations(_orders(lines), 2):
        if set(one.names) != set(other.names) or one.names == other.names:
            continue
        same = [a for a, b in zip(one.names, other.names, strict=True) if a == b]
        has = "has" if len(same) == 1 else "have"
        fixed = SOME.format(names=", ".join(same[:3]), has=has) if same else NONE
        where = f"{_said(one)}; {_said(other)}"
        why = TWO_ORDERS.format(where=where, fixed=fixed)
        proof = [x.line.says for x in (one, other)]
        at, told = other.line, (*proof, *low)
        yield Finding("evaluation_rows_differ", 8.4, at, told, why=why, advice=ONE_MAP)
        return


def counted_from_another_number(beside: Beside, log: Log) -> Iterator[Finding]:
    """Answers and labels whose numbers are the same ones but for a shift by one."""
    lines = beside.words
    found = [(line, _keys(m[1])) for line in lines for m in _COUNTS.finditer(line.text)]
    biased = next(((x, m) for x in lines if (m := _BIAS.search(x.text))), None)
    for (line, some), (below, others) in combinations(found, 2):
        by = min(others) - min(some)
        if abs(by) != 1 or {one + by for one in some} != others:
            continue
        ours, theirs = (below, line) if re.search(r"pred|argmax", below.text) else (line, below)
        first, second = (others, some) if ours is below else (some, others)
        is_near = biased and abs(abs(float(biased[1]["n"])) - 1) < 0.2
        rates = _low_rates(lines, log)
        if not is_near and not rates:
            return
        shown = [ours, theirs, *([biased[0]] if is_near else [])]
        proof = [x.says for x in shown] + rates
        why = BY_ONE.format(ours=min(first), theirs=min(second))
        why = why if min(second) > min(first) else why.replace("one below", "one above")
        advice = ADD_ONE.format(by=min(second) - min(first))
        yield Finding("evaluation_rows_differ", 8.4, ours, tuple(proof), why=why, advice=advice)
        return


def _said(one: _Order) -> str:
    return f"{', '.join(one.names[:4])}{', ...' if len(one.names) > 4 else ''} at {one.line.where}"


def _orders(lines: list[Line]) -> list[_Order]:
    found = []
    for line in (one for one in lines if not _NO_CLASSES.search(one.text)):
        for pattern in (_BY_NUMBER, _BY_NAME):
            pairs = {int(m["n"]): m["name"] for m in pattern.finditer(line.text)}
            found.append(_Order(line, tuple(pairs[n] for n in sorted(pairs))))
        found += [_Order(line, tuple(_NAME.findall(m[1]))) for m in _LIST.finditer(line.text)]
    found += [*_blocks(lines, _NUMBERED), *_of_folders(lines)]
    return [one for one in found if len(one.names) >= FEWEST and len(set(one.names)) > 1]


def _blocks(lines: list[Line], pattern: re.Pattern) -> Iterator[_Order]:
    """Names on lines of their own, each with the next number."""
    rows: list[tuple[Line, re.Match]] = []
    for line in [*lines, Line("", "")]:
        found = pattern.match(line.text)
        follows = found and (not rows or int(found["n"]) == int(rows[-1][1]["n"]) + 1)
        if found and follows:
            rows.append((line, found))
            continue
        if rows and int(rows[0][1]["n"]) in (0, 1):
            yield _Order(rows[0][0], tuple(m["name"] for _, m in rows))
        rows = [(line, found)] if found else []


def _of_folders(lines: list[Line]) -> Iterator[_Order]:
    """What `ls` prints: a class for each folder, in the order in which they are read."""
    for number, line in enumerate(lines):
        if not _FOLDERS.match(line.text):
            continue
        names: list[str] = []
        for below in lines[number + 1 :]:
            if not (found := _WORD.match(below.text)):
                break
            names.append(found["name"])
        if names:
            yield _Order(lines[number + 1], tuple(names))


def _rates(lines: list[Line]) -> list[tuple[Line, float]]:
    """The shares of right answers that lines tell."""
    told = [line for line in lines if _OF_HITS.search(line.text) or _OF_ALL.match(line.text)]
    found = [(line, list(_RATE.finditer(line.text))) for line in told]
    return [(line, float(some[-1]["n"])) for line, some in found if some]


def _best(log: Log, rates: list[tuple[Line, float]]) -> float:
    hits = finite(log.values("eval_accuracy") + log.values("accuracy"))
    return max([*hits, *(rate for _, rate in rates)], default=0.0)


def _fell(lines: list[Line], log: Log) -> list[str] | None:
    """What shows an accuracy far below the best one."""
    rates = _rates(lines)
    best = _best(log, rates)
    low = [(line, rate) for line, rate in rates if rate < LOW * best]
    if best < HIGH or not low:
        return None
    line, rate = low[0]
    return [f"{line.says}: {rate:g}, where {best:g} is told"]


def _low_rates(lines: list[Line], log: Log) -> list[str]:
    return _fell(lines, log) or []


def _keys(text: str) -> set[int]:
    return {int(one) for one in re.findall(r"(\d+)\s*:", text)}
