"""The loss of one batch, cut in several ways, which is not the same each time."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_CUT = re.compile(r"(?<![\w.])(?P<n>\d{1,4}) ?[x*] ?(?P<m>\d{1,4})\W{1,3}(?P<loss>\d+\.\d+)")
_ROW = re.compile(r"^\W*(?P<n>\d{1,4})\s+(?P<m>\d{1,4})\s+(?P<loss>\d+\.\d+)\b")
_LOSS = re.compile(r"\bloss\b", re.IGNORECASE)
_SUMMED = re.compile(r"reduction\W{1,4}sum\b|num_items_in_batch", re.IGNORECASE)
FEWEST, APART, SURE, ABOVE = 4, 1.03, 9.0, 3  # cuts; times the least; lines of a head
MEANS = (
    "the loss, and the gradient with it, depends on how one batch is cut into micro-batches: "
    "{first:g} rows at once give {whole:.4g}, {last:g} at once {cut:.4g}. Each part takes the mean "
    "over its own tokens and these means are averaged, so that a token of a short answer counts as "
    "much more as its part has fewer tokens"
)
BY_TOKENS = (
    "sum the loss over the tokens of each part and divide by the number of labelled tokens of the "
    "whole batch (num_items_in_batch; Transformers 4.46.1 and newer do), then every cut must give "
    "one loss and one gradient. Precision, order and padding are not to blame"
)


def other_by_the_cut(beside: Beside, log: Log) -> Iterator[Finding]:
    """Four or more cuts of as many rows, whose losses go one way and are apart."""
    for cuts in _cuts(beside, log):
        losses = [loss for _, _, loss in cuts]
        steps = [b - a for a, b in pairwise(losses)]
        one_way = all(one >= 0 for one in steps) or all(one <= 0 for one in steps)
        if one_way and max(losses) > APART * min(losses) and not beside.matching(_SUMMED):
            at, first, whole = cuts[0]
            end, last, cut = cuts[-1]
            why = MEANS.format(first=first, whole=whole, last=last, cut=cut)
            proof = tuple(dict.fromkeys((at.says, end.says)))
            yield Finding("split_changes_loss", SURE, at, proof, why=why, advice=BY_TOKENS)
            return


def _cuts(beside: Beside, log: Log) -> Iterator[list[tuple[Line | Entry, int, float]]]:
    """Cuts of one number of rows: on one line, or as rows of a table about a loss."""
    lines = sorted((*beside.words, *log.entries), key=place)
    block: list[tuple[Line | Entry, int, int, float]] = []
    for number, line in enumerate([*lines, Line("line 0", "")]):
        found = [(line, *_numbers(m)) for m in _CUT.finditer(line.text)]
        if len(found) >= FEWEST:
            yield from _of_one_batch(found)
        row = _ROW.match(line.text)
        if row:
            block.append((line, *_numbers(row)))
            continue
        head = lines[max(0, number - len(block) - ABOVE) : number - len(block)]
        if len(block) >= FEWEST and any(_LOSS.search(one.text) for one in head):
            yield from _of_one_batch(block)
        block = []


def _numbers(found: re.Match) -> tuple[int, int, float]:
    return int(found["n"]), int(found["m"]), float(found["loss"])


def _of_one_batch(found: list) -> Iterator[list[tuple[Line | Entry, int, float]]]:
    whole = found[0][1] * found[0][2]
    of_one = {(line, n, loss) for line, n, m, loss in found if n * m == whole and whole > 1}
    if len(of_one) >= FEWEST and len({n for _, n, _ in of_one}) >= FEWEST:
        yield sorted(of_one, key=lambda one: -one[1])
