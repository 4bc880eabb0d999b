"""An evaluation whose limit of tokens cuts replies, and counts those as wrong."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_ROW = re.compile(
    r"^\W*(?:finish_?reason|stop_?reason|ended)?\W{0,3}(?P<why>length|max_?tokens|stop|eos)\b\W+"
    r"(?P<n>\d+)(?:\W+(?P<found>\d+))?\W+(?P<right>\d+)\W*$",
    re.IGNORECASE,
)
_LONG_BY_NATURE = re.compile(r"<think>|\breason\w*|\btraces?\b|\bCoT\b|chain of thought", re.I)
CUT, SURE = ("length", "max_tokens", "maxtokens"), 9.2
SHARE, MOST, RATIO = 0.2, 0.9, 0.4  # of the replies, twice; of what the others get right
IN_THE_MIDST = (
    "the evaluation cuts the replies and counts them as wrong: {cut:.0%} of them end at the limit "
    "of tokens ({right} of {n} right), while of those that end by themselves {good} of {m} are "
    "right. The limit is too short for these replies, and the model is not as bad as the score says"
)
LONGER = (
    "a limit of tokens above the longest replies of the training (for reasoning several thousand), "
    "the same for both models; count the replies that are cut, and measure again. Neither the rows "
    "nor the rate are shown to be at fault"
)


def cut_replies_counted(beside: Beside, log: Log) -> Iterator[Finding]:
    """Two rows of counts, by why a reply ended: those at the limit have hardly any right."""
    rows: dict[bool, tuple[Line, int, int]] = {}
    for line in beside.words:
        if found := _ROW.match(line.text):
            is_cut = found["why"].lower() in CUT
            rows[is_cut] = (line, int(found["n"]), int(found["right"]))
    if len(rows) < 2 or not beside.matching(_LONG_BY_NATURE):
        return  # a model that does not end its replies is cut as well
    (line, n, right), (other, m, good) = rows[True], rows[False]
    if not n or not m or right > n or good > m or not SHARE <= n / (n + m) <= MOST:
        return
    if right / n < RATIO * good / m:
        why = IN_THE_MIDST.format(cut=n / (n + m), right=right, n=n, good=good, m=m)
        proof = (line.says, other.says)
        yield Finding("evaluation_cuts_replies", SURE, line, proof, why=why, advice=LONGER)
