"""Groups of replies that are made in one order and read in another: each mixes prompts."""

import re
from collections.abc import Iterator
from itertools import groupby

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_G = r"(?P<g>[A-Za-z_][\w.]*|\d+)"
_ASKED = (  # several of them, and no number of them
    r"(?<!\w)(?!\w*(?:size|num|len|count|max|min|total|n_))(?:\w+\.)*\w*"
    r"(?:prompts|questions|queries|problems|instructions)(?:_(?:text|texts|ids|list|batch|tok\w*))?"
)
_TILED = tuple(
    re.compile(one)
    for one in (
        rf"(?:=|\(|\breturn)\s*\(?(?:list\()?\b{_ASKED}\)?\s*\*\s*{_G}\s*(?:$|[,)#])",
        rf"\[\s*{_ASKED}\s*\]\s*\*\s*{_G}",
        rf"\bnp\.tile\(\s*{_ASKED}\s*,\s*{_G}\s*\)",
        rf"\b{_ASKED}\.(?:repeat|tile)\(\s*{_G}\s*(?:,\s*1\s*)*\)",
        rf"\bfor\s+\w+\s+in\s+range\(\s*{_G}\s*\)\s+for\s+\w+(?:,\s*\w+)*\s+in\s+(?:zip\(\s*)?"
        rf"{_ASKED}",
    )
)
_ONE = r"\w*(?:prompt|question|query|input)\w*(?:\[['\"]\w+['\"]\])?"
_TENSOR_TILED = tuple(  # a tensor of one prompt, or of several
    re.compile(one)
    for one in (
        rf"\b{_ONE}\.repeat\(\s*{_G}\s*,\s*1\s*\)",
        rf"\bcat\(\s*\[\s*{_ONE}\s*\]\s*\*\s*{_G}",
    )
)
_SEVERAL = re.compile(
    r"\b(?:prompts?_per_\w+|(?:num|n)_(?:prompts|questions)|(?:prompt|rollout)_batch_size)\W{1,3}"
    r"(?:[2-9]|\d\d+)\b|\b(?:[2-9]|\d\d+) (?:prompts|questions)\b",
    re.IGNORECASE,
)
_ONE_BY_ONE = re.compile(
    r"\bfor (?:\w+, ?)*(?:prompt|question|query|q|p|row|item)\b.*\bin\b.*:\s*$"
)
_SIDE_BY_SIDE = tuple(
    re.compile(one)
    for one in (
        rf"\brepeat_interleave\([^()]*?\b{_G}\s*(?:,|\))",
        rf"\bnp\.repeat\([^()]*?,\s*{_G}\s*\)",
        rf"\bfor\s+\w+(?:,\s*\w+)*\s+in\s+{_ASKED}.*?\s+for\s+\w+\s+in\s+range\(\s*{_G}\s*\)",
        r"\bfor\s+\w+(?:,\s*\w+)*\s+in\s+(?:enumerate\(\s*)?\w+\.outputs\b(?!\[)(?P<g>)",  # vLLM's
    )
)
_NEIGHBOURS = re.compile(
    rf"\.(?:view|reshape)\(\s*-1\s*,\s*{_G}\s*\)(?!\s*\.(?:T\b|t\(\)|transpose))|"
    r"\(\s*b\w*\s+(?:g|n|k)\w*\s*\)\s*->\s*b\w*\s+(?:g|n|k)\b"
)
_STRIDES = re.compile(
    rf"\.(?:view|reshape)\(\s*{_G}\s*,\s*-1\s*\)|\(\s*(?:g|n|k)\w*\s+b\w*\s*\)\s*->"
)
_SHAPED = re.compile(
    rf"^\s*(?P<name>\w+)\s*=\s*[^#]*\.(?:view|reshape)\(\s*-1\s*,\s*{_G}\s*\)\s*(?:#.*)?$"
)
_MEAN = re.compile(
    r"\b(?P<name>\w+)\.(?:mean|sum|std)\(\s*(?:(?:dim|axis)\s*=\s*)?(?P<axis>-?\d)\s*[,)]"
)
_OF_GROUPS = re.compile(r"\badv\w*|\breward\w*|\bgroups?\b|\bgrpo\b|\brloo\b", re.IGNORECASE)
_PUT_IN_ORDER = re.compile(r"\bsorted\(|\bargsort\(|\.sort\(|\bgroup_?by\b|\.permute\(|\bstrided\b")
_ID = re.compile(
    r"^(?:pid|prompt(?:_?(?:id|idx|index))?|qid|question_?id|uid|gid|row_?id|example)$"
)
FEWEST = 4  # rows of a table
MIXED = (
    "a group holds replies to different prompts: the prompts are laid out {order}, and rewards are "
    "grouped {groups}. So an advantage says whether a prompt is easier than others, and not which "
    "reply to it is better: prompts that are always right are always praised, and few groups look "
    "as if all replies were alike"
)
TILED = "one after the other, again and again (a, b, c, a, b, c)"
BY_SIDE = "each beside its copies (a, a, b, b)"
BY_NEIGHBOURS, BY_STRIDES = "by neighbours", "by strides (every n-th row)"
ACROSS = "so that a group is a row, while their mean is taken over the other axis"
ONE_ORDER = (
    "lay them out as they are grouped: [p for p in prompts for _ in range(G)] or "
    "repeat_interleave(G) with view(-1, G), and the answers alike; or view(G, -1).T for tiled "
    "prompts. Assert that all rows of a group have one prompt; the share of groups without a "
    "spread then rises to what it is"
)


def groups_of_other_prompts(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that repeats prompts in one order and groups rewards in the other."""
    lines = beside.words
    if not any(_OF_GROUPS.search(line.text) for line in lines):
        return
    if any(_PUT_IN_ORDER.search(line.text) for line in lines):
        return
    tiled, by_side = _named(lines, _TILED), _named(lines, _SIDE_BY_SIDE)
    if not tiled and beside.matching(_SEVERAL) and not beside.matching(_ONE_BY_ONE):
        tiled = _named(lines, _TENSOR_TILED)
    neighbours, strides = (_named(lines, (one,)) for one in (_NEIGHBOURS, _STRIDES))
    if tiled and not by_side and not strides and _fit(tiled, neighbours):
        pair, words = (tiled, neighbours[0]), (TILED, BY_NEIGHBOURS)
    elif by_side and not tiled and not neighbours and _fit(by_side, strides):
        pair, words = (by_side, strides[0]), (BY_SIDE, BY_STRIDES)
    elif by_side and not tiled and (across := _across(lines)):
        pair, words = (by_side, (across, "")), (BY_SIDE, ACROSS)
    else:
        return
    shown = _in_turn(beside)
    if shown == "together" and words[0] == TILED:
        return
    (code, _), (grouped, _) = pair[0][0], pair[1]
    proof = (
        code.says,
        grouped.says,
        *([shown] if shown and shown != "together" and words[0] == TILED else []),
    )
    why, weight = MIXED.format(order=words[0], groups=words[1]), 9.2 if proof[2:] else 8.2
    yield Finding("groups_mixed", weight, grouped, proof, why=why, advice=ONE_ORDER)


def _named(lines: list[Line], patterns: tuple[re.Pattern, ...]) -> list[tuple[Line, str]]:
    """The lines that match, with the last part of the name of the number of replies."""
    found = ((line, m) for line in lines for one in patterns if (m := one.search(line.text)))
    return [(line, (m["g"] or "").rpartition(".")[2]) for line, m in found]


def _fit(made: list[tuple[Line, str]], read: list[tuple[Line, str]]) -> bool:
    """Whether what is made and what is read name one number of replies."""
    return any(g == other or not other or not g for _, g in made for _, other in read)


def _across(lines: list[Line]) -> Line | None:
    """Where rewards that have a group in each row are averaged over the other axis alone."""
    for number, line in enumerate(lines):
        if not (shaped := _SHAPED.match(line.text)):
            continue
        means = [
            (below, one["axis"])
            for below in lines[number + 1 :]
            for one in _MEAN.finditer(below.text)
            if one["name"] == shaped["name"]
        ]
        if means and all(axis == "0" for _, axis in means):
            return means[0][0]
    return None


def _in_turn(beside: Beside) -> str:
    """That a table of rows has the prompts in turn; "together" if copies stand side by side."""
    rows, at = _ids(beside)
    ids = [one for _, one in rows]
    runs = [len(list(group)) for _, group in groupby(ids)]
    if len(ids) < FEWEST or len(set(ids)) < 2:
        return ""
    if max(runs) > 1:
        return "together"
    period = next((n for n in range(2, len(ids)) if ids[n] == ids[0]), 0)
    if not period or any(one != ids[n % period] for n, one in enumerate(ids)):
        return ""
    told = ", ".join(ids[:period])
    return f"{rows[0][0].where} on: rows that follow each other have other prompts ({at} {told})"


def _ids(beside: Beside) -> tuple[list[tuple[Line, str]], str]:
    """The column of a table that names the prompt of each row, with its name."""
    rows: list[tuple[Line, str]] = []
    place, name, width = -1, "", 0
    for line in beside.words:
        cells = [one for one in re.split(r"[\s|,]+", line.text.strip(" |")) if one]
        if not rows and (found := [n for n, one in enumerate(cells) if _ID.match(one.lower())]):
            place, name, width = found[0], cells[found[0]], len(cells)
        elif place >= 0 and len(cells) == width and any(one[0].isdigit() for one in cells):
            rows.append((line, cells[place]))
        elif rows:
            break
    return rows, name
