"""What shows beside a split by row that several rows were made of one source."""

import re

from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log, finite

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
FEW = 1.5  # rows of each
LOWER = 0.9  # of the score that was measured


def of_fewer(lines: list[Line]) -> list[str]:
    """How many rows there are of how many sources."""
    for line in lines:
        for found in _COUNTED.finditer(line.text):
            rows, sources = (plain_number(found[n] or found[f"{n}2"]) for n in ("rows", "n"))
            if rows >= FEW * sources and sources:
                what = found["what"] or found["what2"]
                return [f"{line.where}: {rows:g} rows of {sources:g} {what}"]
    return []


def falls_elsewhere(lines: list[Line], log: Log) -> list[str]:
    """A line that gives a far lower score for rows of another time or place."""
    held_out = (*log.values("eval_accuracy"), *log.values("eval_f1"))
    for line in lines:
        scores = [_share(one) for one in _SCORE.findall(line.text)]
        if not _ELSEWHERE.search(line.text) or not scores:
            continue
        if min(scores) < LOWER * max([*scores, *finite(held_out)]):
            return [line.says]
    return []


def _share(text: str) -> float:
    return float(text.rstrip(" %")) / (100 if "%" in text else 1)
