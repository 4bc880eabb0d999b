"""Two kinds of replies compared within the rows that they answer."""

import math
from statistics import fmean


def gap_within(mixed: list[tuple[list[float], list[float]]]) -> tuple[float, float]:
    """By how much the own earn more than the others of the same row, and its standard error.

    A row that is answered well may stand by chance where a reward that looks elsewhere pays more.
    Replies to one row have that in common, and the policy learns from what they differ in.

    >>> [round(one, 2) for one in gap_within([([1.0], [0.0]), ([0.0], [0.0])])]
    [0.5, 0.35]
    """
    weights = [len(own) * len(others) / (len(own) + len(others)) for own, others in mixed]
    gaps = [fmean(own) - fmean(others) for own, others in mixed]
    gap = fmean(gaps, weights)
    away = (weight * (one - gap) for weight, one in zip(weights, gaps, strict=True))
    return gap, math.hypot(*away) / sum(weights)
