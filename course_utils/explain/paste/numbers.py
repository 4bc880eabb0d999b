"""Small sums over a series, and how its numbers are quoted."""

import math
from itertools import groupby, pairwise
from statistics import fmean, median, pvariance, variance

from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite

A_HUNDREDTH = 0.01


def said(entry: Entry, *names: str) -> str:
    """The numbers that an entry has of these, under its own names, such as "grad_norm nan"."""
    held = (name for name in names if name in entry.numbers)
    return ", ".join(f"{entry.names.get(n, n)} {entry.numbers[n]:.4g}" for n in held)


def margins_of(log: Log) -> list[tuple[Entry, float]]:
    """The margin of each entry, or what it is made of."""
    rejected = [(e, v) for e, v in log.series("rejected_reward") if "chosen_reward" in e.numbers]
    return log.series("margin") or [(e, e.numbers["chosen_reward"] - v) for e, v in rejected]


def share(part: list, whole: list) -> float:
    return len(part) / len(whole) if whole else 0.0


def thirds(values: list[float]) -> tuple[float, float, float] | None:
    """The means of the first, middle and last third; None for fewer than six finite numbers."""
    values = finite(values)
    if len(values) < 6:
        return None
    size = len(values) // 3
    return fmean(values[:size]), fmean(values[size:-size]), fmean(values[-size:])


def spread(values: list[float]) -> float:
    """Largest minus smallest of the finite numbers."""
    values = finite(values)
    return max(values) - min(values) if values else 0.0


def trend(values: list[float]) -> tuple[float, float, float] | None:
    """First and last third by mean, the middle one by median (a spike is no turn), if they rise or
    fall throughout, and from end to end by more than two standard errors.

    >>> trend([4.0, 4.1, 3.0, 3.1, 2.0, 2.1]) is not None, trend([1.0, 1.2] * 4)
    (True, None)
    """
    values, levels = finite(values), thirds(values)
    if levels is None:
        return None
    size = len(values) // 3
    first, middle, last = levels[0], median(values[size:-size]), levels[2]
    if not (first < middle < last or first > middle > last):
        return None
    error = math.sqrt((variance(values[:size]) + variance(values[-size:])) / size)
    return (first, middle, last) if abs(last - first) > 2 * error else None


def change(values: list[float]) -> tuple[float, float] | None:
    """First and last third by mean, if they differ by more than noise: by two standard errors, as
    its steps from value to value have it (a trend is no noise), and by a hundredth.

    >>> change([0.4, 0.42, 0.5, 0.55, 0.6, 0.63]), change([0.42, 0.41, 0.43, 0.42, 0.41, 0.44])
    ((0.41000000000000003, 0.615), None)
    """
    values, levels = finite(values), thirds(values)
    if levels is None:
        return None
    noise = fmean((now - before) ** 2 for before, now in pairwise(values)) / 2
    error = math.sqrt(2 * noise / (len(values) // 3))
    least = max(2 * error, A_HUNDREDTH * abs(levels[0]))
    return (levels[0], levels[2]) if abs(levels[2] - levels[0]) > least else None


def moves(values: list[float]) -> tuple[float, float] | None:
    """The same; of a few values, which have no thirds, the first and the last, if all go one way.

    >>> moves([0.8, 0.9, 0.95, 0.98]), moves([0.8, 0.9, 0.85, 0.98])
    ((0.8, 0.98), None)
    """
    values = finite(values)
    steps = [now - before for before, now in pairwise(values)]
    one_way = len(steps) >= 3 and (min(steps) > 0 or max(steps) < 0)
    return change(values) or ((values[0], values[-1]) if one_way else None)


def recovers(losses: list[float]) -> bool:
    """Whether a loss was nan before and a number again, as long as it is nan at the end or longer.

    >>> recovers([2.0, math.nan, 1.9, math.nan]), recovers([2.0, math.nan, 1.9, *[math.nan] * 2])
    (True, False)
    """
    runs = [(nan, len(list(some))) for nan, some in groupby(map(math.isnan, losses))]
    came_back = [length for nan, length in runs[:-1] if nan]
    return bool(came_back) and runs[-1] <= (True, max(came_back))


def deviation(values: list[float]) -> float:
    return math.sqrt(pvariance(values)) if values else 0.0


def listed(levels: tuple[float, ...]) -> str:
    return ", ".join(f"{level:.3g}" for level in levels)
