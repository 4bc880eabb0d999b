"""Reference log-probs that were kept in the order of a file, and are read by position in a loader
that shuffles: `rule(log, beside)`."""

import ast
import math
import re
from collections.abc import Iterator
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import name_of, statements
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.rules.preference import LN_2

_KEPT = re.compile(  # log-probs of the reference in a file or a list
    r"\bref\w*[_. -]?(?:lps?|logps?|log_?probs?|lp_cache|cache|scores?)\w*"
    r"(?:\.(?:npy|npz|pt|pkl|parquet|bin|h5|arrow)\b|\s*=\s*(?:np|torch|pickle|joblib)\.\w*load\w*\(|"
    r".{0,30}\b(?:mmap|cached?|precomputed|wrote|loaded)\b)|"
    r"\b(?:precomput\w+|cach\w+|wrote|loaded)\b.{0,40}\bref\w*[_. -]?(?:lps?|logps?|log-?_?probs?)",
    re.IGNORECASE,
)
_SHUFFLES = re.compile(
    r"\bshuffle['\"]?\s*[=:]\s*['\"]?true\b|\.shuffle\(|\bRandomSampler\b|\bDistributedSampler\b",
    re.IGNORECASE,
)
_BY_ID = re.compile(
    r"\bref\w*\[[^\]]*\b(?:row_?)?(?:ids?|index|indices|uid)\b|\bprecompute_ref_log_probs\b|"
    r"\bby (?:row )?id\b|\bref\w*\.get\(|\badd_column\(|\bref\w*\[\w+\]\s*=(?!=)",
    re.IGNORECASE,
)
_NO_UPDATE = re.compile(
    r"\bbefore (?:any|the first) (?:update|step)\b|\bstep 0\b|\bno update\b", re.I
)
_IN_FILE_ORDER = re.compile(
    r"\border['\"]?\s*[=:]\s*['\"]?(?:file|sequential)|shuffle\W+false", re.I
)
_FIRST = re.compile(r"(?<![\d./])0 ?/ ?\d+|\b(?:step|iter\w*)\W{0,3}[01]\b", re.IGNORECASE)
_OF_DPO = re.compile(r"dpo|ref(?:erence)?(?![a-z])", re.IGNORECASE)
_NUMBERS = re.compile(r"^[\s|]*(?:-?[\d.]+[\s|]+){3,}-?[\d.]+[\s|]*$")
FAR, ROWS, NEAR, COUNTERS = 0.3, 3, 0.25, ("i", "step", "it", "n", "batch_idx", "k", "j")
OF_OTHER_ROWS = (
    "each pair gets the reference log-probs of another row: they were computed in the order of "
    "the file, and are read by position in a loader that shuffles. So the rewards are noise from "
    "the first step on, and no rate, beta or other loss mends that"
)
BY_ID = (
    "look the reference up by the id of the row (keep it in the row before shuffling, or compute "
    "it in the step); assert that before the first update each reward is 0 and the loss is ln 2 = "
    "0.6931"
)


def reference_of_other_rows(log: Log, beside: Beside) -> Finding | None:
    """A loss far from ln 2 before any update, a reference that was kept, and a shuffle."""
    kept, shuffled = beside.matching(_KEPT), beside.matching(_SHUFFLES)
    by_place = next(_read_by_place(beside), None)
    if (kept is None and by_place is None) or shuffled is None or log.kind() == "policy":
        return None
    if beside.matching(_BY_ID) or not (log.entries and beside.matching(_OF_DPO)):
        return None
    first = log.entries[0]
    starts, apart = _starts_far(first), _apart(beside)
    if not starts and not (apart and beside.matching(_NO_UPDATE)):
        return None
    ordered = beside.matching(_IN_FILE_ORDER)
    lines = [pair[0] for pair in (kept, ordered, shuffled) if pair] + (
        [by_place] if by_place else []
    )
    proof = [one.says for one in lines]
    if starts:
        proof.append(f"{said(first, 'loss')} at {first.where}; before any update DPO has ln 2")
    weight = 9.0 if by_place or apart or ordered else 7.5
    proof = tuple(dict.fromkeys((*proof, *apart)))
    return Finding("wrong_reference", weight, first, proof, why=OF_OTHER_ROWS, advice=BY_ID)


def _starts_far(first: Entry) -> bool:
    """Whether the loss of the first step is not that of a policy that is its reference."""
    step, loss = first.numbers.get("step"), first.numbers.get("loss", LN_2)
    is_first = step <= 1 if step is not None else bool(_FIRST.search(first.text))
    return is_first and FAR < abs(loss - LN_2) < math.inf


def _read_by_place(beside: Beside) -> Iterator[Line]:
    """Code that reads the reference at the number of the batch, or beside the loader."""
    for line, statement in statements(beside):
        for node in ast.walk(statement):
            is_part = isinstance(node, ast.Subscript) and _is_kept(node.value)
            is_read = is_part and isinstance(node.ctx, ast.Load)
            if is_read and any(name_of(one) in COUNTERS for one in ast.walk(node.slice)):
                yield line
            is_zip = isinstance(node, ast.Call) and name_of(node.func) == "zip"
            if is_zip and any(map(_is_kept, node.args)) and len(node.args) > 1:
                yield line


def _is_kept(node: ast.AST) -> bool:
    return bool(re.match(r"ref\w*", name_of(node), re.IGNORECASE))


def _apart(beside: Beside) -> list[str]:
    """Rows of a table in which policy and reference are far apart, and their means are not."""
    lines = beside.words
    for number, head in enumerate(lines):
        names = head.text.replace("|", " ").lower().split()
        pair = [_first(names, words) for words in (r"pol\w*_?c?|pi_?\w*", r"ref_?\w*")]
        if None in pair or len(names) < 4:
            continue
        rows = []
        for line in lines[number + 1 :]:
            if _NUMBERS.match(line.text) and len(line.text.replace("|", " ").split()) == len(names):
                rows.append((line, [float(n) for n in line.text.replace("|", " ").split()]))
            elif rows:
                break
        if len(rows) >= ROWS and (told := _told(rows, *pair)):
            return [told]
    return []


def _first(names: list[str], words: str) -> int | None:
    return next((n for n, name in enumerate(names) if re.fullmatch(words, name)), None)


def _told(rows: list[tuple[Line, list[float]]], policy: int, reference: int) -> str:
    gaps = [(abs(row[policy] - row[reference]), line) for line, row in rows]
    size = fmean(abs(row[policy]) for _, row in rows)
    if fmean(gap for gap, _ in gaps) < NEAR * size:
        return ""
    worst, line = max(gaps, key=lambda pair: pair[0])
    return (
        f"{line.where}: policy and reference are {worst:.4g} apart for one row, and "
        f"{fmean(gap for gap, _ in gaps):.3g} in the mean of {len(rows)} rows, before any update"
    )


RULES_OF_SETTINGS = (reference_of_other_rows,)
