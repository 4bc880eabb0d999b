"""A classifier with one output, whose answer is taken as the largest of one number."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_ONE = re.compile(r"\bnum_labels\s*=\s*1\b")
_LARGEST = re.compile(r"\bargmax\(.*")
ALWAYS_0 = (
    "the model has one output (num_labels=1), and argmax over one column is 0 for every row, "
    "whatever it learnt: the accuracy is the share of class 0. Its loss is the mean squared error "
    "of that number, and may be good"
)
TWO_OR_THRESHOLD = (
    "num_labels=2 with whole numbers as labels (cross-entropy), or one output and a threshold in "
    "place of argmax; the balance of the classes and the rate are not to blame"
)


def argmax_of_one(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with the two lines of code that leave one answer."""
    if not (found := lines_of_one_output(beside)):
        return one
    proof = (*one.for_it, *(line.says for line in found))
    return replace(one, weight=9.0, for_it=proof, why=ALWAYS_0, advice=TWO_OR_THRESHOLD)


def lines_of_one_output(beside: Beside) -> list[Line]:
    """The line that asks for one output and the one that takes the largest of it; else []."""
    found = [beside.matching(pattern) for pattern in (_ONE, _LARGEST)]
    return [] if None in found else [line for line, _ in found]
