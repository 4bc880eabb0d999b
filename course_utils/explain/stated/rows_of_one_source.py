"""Rows that were made of one document or ticket, and are split into training and test by row."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, place
from course_utils.explain.paste.log import Log, finite

_TAKEN_APART = re.compile(
    r"(?P<how>\.explode\(|\bsplit_documents\(|\bcreate_documents\(|"
    r"\breturn_overflowing_tokens\s*=\s*True|\bfor \w+ in (?:chunk\w*|split_\w+|window\w*|"
    r"sliding\w*|segment\w*)\()"
)
_SPLIT = re.compile(
    r"\b(?:train_test_split|random_split)\((?P<of>[^=]*)|"
    r"\.sample\(\s*frac\s*=|\b(?:Stratified)?(?:ShuffleSplit|KFold)\("
)
_BY_SOURCE = re.compile(
    r"\bGroup(?:Shuffle)?(?:Split|KFold)|\bGroupShuffleSplit|\bStratifiedGroup|\bLeave\w*Group|"
    r"\bgroups?\s*=|\bisin\(|\b(?:unique|drop_duplicates)\(\)?.*\btrain_test_split|"
    r"\btrain_test_split\([^)]*(?:\bids?\b|_ids?\b|unique|\bdocs?\b|documents|tickets|users)",
)
_COUNTED = re.compile(
    r"\brows?\W{1,3}(?P<rows>\d[\d,]{2,})\W+(?:\w+ )?(?P<what>[a-z_]+s)\W{1,3}(?P<n>\d[\d,]{2,})\b|"
    r"\b(?P<rows2>\d[\d,]{2,}) (?:rows|chunks|messages|passages|samples|windows)\b"
    r"\D{1,40}?\b(?P<n2>\d[\d,]{2,}) (?P<what2>[a-z_]+s)\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:live|production|in the wild|fresh|new (?:customers?|documents?|tickets?|users?|data)|"
    r"next (?:week|month)|unseen|out[- ]of[- ]time)\b",
    re.IGNORECASE,
)
_SCORE = re.compile(r"(?<![\d.])(?:0?\.\d{2,4}|\d\d(?:\.\d+)? ?%)")
FEW, SHOWN, SAID = 1.5, 8.8, 6.8  # rows of each
LOWER = 0.9  # of the score that was measured
BOTH_SIDES = (
    "rows of one and the same source stand in training and in the evaluation: {how} makes several "
    "rows of each, and the split goes by row. What they share (label, wording, quotes, signature) "
    "is known from training, so that the evaluation is far better than on anything new: the "
    "lower number is the true one, and no drift and no fault of serving is needed for it"
)
BY_GROUP = (
    "split by the source (GroupShuffleSplit or StratifiedGroupKFold with its id, and by time where "
    "rows come in time), cut out quoted text, train and measure again; choose settings by that"
)


def split_by_row(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that takes rows apart and then splits them at random, and a score that falls."""
    lines = sorted((line for _, line in beside.lines), key=place)
    apart = next((n for n, one in enumerate(lines) if _TAKEN_APART.search(one.text)), None)
    if apart is None or any(_BY_SOURCE.search(one.text) for one in lines):
        return
    split = next((one for one in lines[apart:] if _SPLIT.search(one.text)), None)
    if split is None:
        return
    counted, elsewhere = _counted(lines), _falls_elsewhere(lines, log)
    if not elsewhere:
        return
    proof = [f"{one.where} says: {one.text.strip()[:MAX_QUOTE]}" for one in (lines[apart], split)]
    proof += [*counted, *elsewhere]
    how = _TAKEN_APART.search(lines[apart].text)["how"].strip(".(")
    why, weight = BOTH_SIDES.format(how=how), SHOWN if counted else SAID
    yield Finding("rows_in_both", weight, split, tuple(proof), why=why, advice=BY_GROUP)


def _counted(lines: list[Line]) -> list[str]:
    """How many rows there are of how many sources."""
    for line in lines:
        for found in _COUNTED.finditer(line.text):
            rows, sources = (
                float((found[n] or found[f"{n}2"]).replace(",", "")) for n in ("rows", "n")
            )
            if rows >= FEW * sources and sources:
                what = found["what"] or found["what2"]
                return [f"{line.where}: {rows:g} rows of {sources:g} {what}"]
    return []


def _falls_elsewhere(lines: list[Line], log: Log) -> list[str]:
    """A line that gives a far lower score for rows of another time or place."""
    held_out = (*log.values("eval_accuracy"), *log.values("eval_f1"))
    for line in lines:
        scores = [_share(one) for one in _SCORE.findall(line.text)]
        if not _ELSEWHERE.search(line.text) or not scores:
            continue
        if min(scores) < LOWER * max([*scores, *finite(held_out)]):
            return [f"{line.where} says: {line.text.strip()[:MAX_QUOTE]}"]
    return []


def _share(text: str) -> float:
    return float(text.rstrip(" %")) / (100 if "%" in text else 1)
