"""Reads tables that are turned round: a column for each step, and a row for each number."""

import re
from collections.abc import Callable, Iterator

from course_utils.explain.paste.tables import NUMBER, cells

_STEP = re.compile(r"(?:(?:global[_ ])?step|iter(?:ation)?|epoch)s?:?\s*(\d+)?", re.IGNORECASE)
_NUMBER = re.compile(NUMBER)
FEWEST_STEPS, FEWEST_ROWS = 3, 2
Pairs = list[tuple[str, str]]


class ByColumn:
    """Holds the table that a log is in: `step 0  step 10  step 20`, then `loss  2.1  1.9  1.7`.

    `feed` takes its head or a row of it; `close` gives the pairs of each step.
    """

    def __init__(self, canonical: Callable[[str], str | None]):
        self._canonical = canonical
        self._name, self._steps, self._rows = "", [], []
        self._where = ""

    def feed(self, where: str, text: str) -> bool:
        """Whether a line is the head of such a table, or a row of it."""
        found = cells(text) or []
        if self._steps and len(found) == len(self._steps) + 1 and _are_numbers(found[1:]):
            if self._canonical(found[0]):
                self._rows.append(found)
            return True
        if head := _head(found):
            self._where, self._rows = where, []
            self._name, self._steps = head
            return True
        return False

    def close(self) -> Iterator[tuple[str, str, Pairs]]:
        """Where the table began, and for each step its words and its pairs."""
        if len(self._rows) >= FEWEST_ROWS:
            for number, step in enumerate(self._steps, start=1):
                pairs = [(self._name, step), *((row[0], row[number]) for row in self._rows)]
                yield self._where, ", ".join(map(" ".join, pairs)), pairs
        self._steps, self._rows = [], []


def _head(found: list[str]) -> tuple[str, list[str]] | None:
    """The name and the steps of a head.

    >>> _head(["", "step 0", "step 10", "step 20"]), _head(["epoch", "1", "2", "3"])
    (('step', ['0', '10', '20']), ('epoch', ['1', '2', '3']))
    >>> _head(["step", "2.1", "1.9", "1.7"]), _head(["metric", "step 0", "loss", "lr"])
    (None, None)
    """
    named = [_STEP.fullmatch(cell) for cell in found]
    if len(found) > FEWEST_STEPS and named[0] and all(cell.isdigit() for cell in found[1:]):
        steps, first = found[1:], named[0]
    else:
        steps = [one[1] for one in named[-FEWEST_STEPS:] if one and one[1]]
        at = 0 if found and named[0] else 1
        if len(steps) < FEWEST_STEPS or not all(one and one[1] for one in named[at:]):
            return None
        steps, first = [one[1] for one in named[at:]], named[-1]
    if [int(step) for step in steps] != sorted({int(step) for step in steps}):
        return None
    return re.split(r"[\s\d:]", first[0])[0].lower().rstrip("s"), steps


def _are_numbers(found: list[str]) -> bool:
    return all(_NUMBER.fullmatch(cell) for cell in found)
