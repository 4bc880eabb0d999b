"""A file whose rows were counted with and without their copies, and is split by row."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place, plain_number
from course_utils.explain.paste.log import Log

_ASKS = re.compile(r"\bwc -l\b|\bnunique\(|\blen\(set\(|\bdrop_duplicates\(|\bunique\(")
_DISTINCT = re.compile(r"sort -u|\buniq\b|nunique|\bset\(|drop_duplicates|unique\(")
_OF_TEXT = re.compile(r"messages?|text|content|prompt|conversation|input|question", re.IGNORECASE)
_COUNT = re.compile(r"^\W*(?P<n>\d[\d,]*)(?:\s+\S*)?\s*$")
_SPLITS = re.compile(
    r"\bval_set_size\W{1,3}0?\.\d+|\btrain_test_split\(|\bval_size\W{1,3}0?\.\d+|"
    r"\btest_size\W{1,3}0?\.\d+|\brandom_split\(",
    re.IGNORECASE,
)
FEW, SURE = 1.5, 8.8
COPIES = (
    "the file holds {rows:,.0f} rows and only {texts:,.0f} different ones, about {times:.0f} "
    "copies of each, and the evaluation is split off by row: most of what it asks has been trained "
    "on. So its loss falls with that of the training and says nothing of new rows, and each row is "
    "learnt {times:.0f} times an epoch, by heart"
)
ONCE = (
    "drop the copies (or weigh classes in the sampler) and split by the text before anything is "
    "multiplied; fewer epochs; then compare checkpoints on rows that were never seen"
)


def copies_in_both(beside: Beside, log: Log) -> Iterator[Finding]:
    """`wc -l` of the file and of its distinct texts, and a split by a share."""
    counts = list(_counts(beside))
    texts = min((one for one in counts if one[2]), key=lambda one: one[1], default=None)
    rows = max((one for one in counts if not one[2]), key=lambda one: one[1], default=None)
    split = beside.matching(_SPLITS)
    if texts is None or rows is None or not split or rows[1] < FEW * texts[1]:
        return
    proof = tuple(one.says for one in dict.fromkeys((rows[0], texts[0], split[0])))
    why = COPIES.format(rows=rows[1], texts=texts[1], times=rows[1] / texts[1])
    yield Finding("rows_in_both", SURE, texts[0], proof, why=why, advice=ONCE)


def _counts(beside: Beside) -> Iterator[tuple[Line, float, bool]]:
    """A count below what asked for it, and whether it is of distinct texts."""
    for line, below in pairwise(sorted(beside.words, key=place)):
        found = _COUNT.match(below.text) if _ASKS.search(line.text) else None
        if not found:
            continue
        is_distinct = bool(_DISTINCT.search(line.text))
        if not is_distinct or _OF_TEXT.search(line.text):
            yield line, plain_number(found["n"]), is_distinct
