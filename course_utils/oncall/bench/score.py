"""The score of a program: one per ticket, and how often it was right, with 95 % intervals.

An interval is Wilson's. It takes what it counts as independent: the faults of one ticket of level 3
are not quite, so those of places and classes are a little too narrow there.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from course_utils.shown.report import Table

CONFIDENCE = 0.95
Z = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Score:
    """A program's result on one ticket, and what it cost: seconds by the clock, and looks.

    Attributes:
        fixed: whether the run is healthy in the end; of a healthy one, whether it is as it was.
        faults: none in a ticket whose run is healthy.
        solved: fixed with every place and class; of a healthy run, untouched and called healthy.
        ended: "code 0", or "time".
    """

    name: str  # level and number
    level: int
    fixed: bool
    places: int
    classes: int
    faults: int
    solved: bool
    seconds: float
    ended: str
    problem: str
    looks: int | None = None  # None where looks are free

    @property
    def is_healthy(self) -> bool:
        return self.faults == 0

    @property
    def is_false_fix(self) -> bool:
        return self.is_healthy and not self.fixed

    @property
    def in_words(self) -> str:
        if self.solved:
            return "solved"
        if self.is_healthy:
            return "a false fix" if self.is_false_fix else "left alone, and not called healthy"
        return "fixed" if self.fixed else "not fixed"


@dataclass(frozen=True)
class Rate:
    """How many of how many."""

    num: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share, with a confidence of 95 %.

        >>> low, high = Rate(0, 24).interval
        >>> round(low, 3), round(high, 3)
        (0.0, 0.138)
        """
        if not self.of:
            return 0.0, 1.0
        weight = self.of + Z**2
        centre = (self.num + Z**2 / 2) / weight
        half = Z / weight * math.sqrt(self.num * (self.of - self.num) / self.of + Z**2 / 4)
        return max(0.0, centre - half), min(1.0, centre + half)

    def __str__(self) -> str:
        """
        >>> str(Rate(5, 24)), str(Rate(0, 0))
        ('5/24 9-40%', '-')
        """
        low, high = (round(100 * end) for end in self.interval)
        return f"{self.num}/{self.of} {low}-{high}%" if self.of else "-"


# Of a ticket: how much was right, and of how much.
COUNTED: dict[str, tuple[Callable[[Score], int], Callable[[Score], int]]] = {
    "places": (lambda one: one.places, lambda one: one.faults),
    "classes": (lambda one: one.classes, lambda one: one.faults),
    "fixed": (lambda one: one.fixed and not one.is_healthy, lambda one: not one.is_healthy),
    "solved": (lambda one: one.solved, lambda one: True),
    "false_fixes": (lambda one: one.is_false_fix, lambda one: one.is_healthy),
}
COSTS = {"seconds": "median s", "looks": "median looks"}
NOTE = (
    "Each cell: how many of how many, and the 95% interval of that share (Wilson). False fixes: "
    "healthy runs that were changed. Solved: fixed, with every place and class; a healthy run that "
    "was left alone and called healthy."
)


def rates(scores: Sequence[Score]) -> dict[str, Rate]:
    """By what is counted, in the order of `COUNTED`."""
    return {
        name: Rate(sum(map(right, scores)), sum(map(whole, scores)))
        for name, (right, whole) in COUNTED.items()
    }


def table(found: Sequence[Score]) -> Table:
    """One row per level of broken runs, one for the healthy runs, and one for all."""
    costs = [name for name in COSTS if all(getattr(one, name) is not None for one in found)]
    rows = []
    for said, own in _rows(found):
        medians = (statistics.median(getattr(one, name) for one in own) for name in costs)
        cells = (*map(str, rates(own).values()), *(f"{median:.0f}" for median in medians))
        rows.append((said, str(len(own)), *cells))
    counted = (name.replace("_", " ") for name in COUNTED)
    columns = ("level", "tickets", *counted, *(COSTS[name] for name in costs))
    return Table(columns=columns, rows=rows, notes=(NOTE,))


def _rows(found: Sequence[Score]) -> list[tuple[str, list[Score]]]:
    broken = [one for one in found if not one.is_healthy]
    healthy = [one for one in found if one.is_healthy]
    levels = sorted({one.level for one in broken})
    rows = [(str(level), [one for one in broken if one.level == level]) for level in levels]
    return [*rows, *([("healthy", healthy)] if healthy else []), ("all", list(found))]
