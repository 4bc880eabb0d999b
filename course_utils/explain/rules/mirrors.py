"""A learning rate whose way up is its way down, seen in a mirror: where it turns."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice, pairwise

from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log

Rates = list[tuple[Entry, float]]
AT_END, ALIKE, BACK = 0.02, 0.1, 0.3  # of the highest rate
TO_THE_DIGIT = 1e-3
FEW, MOST = 3, 8  # entries that mirror others; turns that are looked at
OF_ALL = re.compile(r"(?<![\d/])(\d+)/(\d+)\b(?!/)")  # a step, and the steps of the run


def mirrored(log: Log) -> int | None:
    """The number of the entry at which the rate is at its end, and behind which it has the rates
    of before in the opposite order; None where no step is like this, or the run is resumed there.
    """
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v)]
    if len(series) < 2 * FEW + 1 or len(series) < len(log.values("learning_rate")):
        return None
    top, places = max(rate for _, rate in series), _places(series)
    for at in islice(lowest(series), MOST):
        if _is_mirror(series, places, at, top) and not _is_resumed(log, series, at):
            return at
    for at in range(2, len(series) - 2):
        if _is_turn_of_two(series, at, top) and not _is_resumed(log, series, at):
            return at
    return None


def _is_turn_of_two(series: Rates, at: int, top: float) -> bool:
    """Whether the two rates before a low one come again behind it to the digit."""
    rates = [rate for _, rate in series[at - 2 : at + 3]]
    same = all(math.isclose(rates[2 - k], rates[2 + k], rel_tol=TO_THE_DIGIT) for k in (1, 2))
    return same and rates[2] <= AT_END * top and BACK * top < rates[4] > rates[3] > rates[2]


def lowest(series: Rates) -> Iterator[int]:
    """Where the rate is low, was higher some entries before, and is so some behind."""
    low = AT_END * max(rate for _, rate in series)
    for at in range(FEW, len(series) - FEW):
        rate = series[at][1]
        is_turn = series[at - 1][1] > rate <= series[at + 1][1]
        if rate <= low and is_turn and series[at - FEW][1] > rate < series[at + FEW][1]:
            yield at


def _is_mirror(series: Rates, places: list[float], at: int, top: float) -> bool:
    """Whether the rates behind an entry are those before it, at the same distance in steps."""
    begin = max(range(at), key=lambda number: series[number][1])
    known = ([rate for _, rate in series[begin : at + 1]], places[begin : at + 1])
    pairs = []
    for (_, now), place in zip(series[at + 1 :], places[at + 1 :], strict=True):
        mirrored_at = 2 * places[at] - place
        if mirrored_at < places[begin]:
            break
        pairs.append((now, _rate_at(*known, mirrored_at)))
    alike = [abs(now - before) <= ALIKE * top for now, before in pairs]
    return len(pairs) >= FEW and all(alike) and max(now for now, _ in pairs) >= BACK * top


def _places(series: Rates) -> list[float]:
    """The steps of the entries, or their numbers where the steps do not count up."""
    places = [step_of(entry) for entry, _ in series]
    counts = all(now < then for now, then in pairwise(places))
    return places if counts else [float(number) for number in range(len(series))]


def _rate_at(rates: list[float], places: list[float], place: float) -> float:
    """The rate at a place between the first and the last, between the entries around it."""
    number = min(bisect_right(places, place), len(places) - 1)
    low, high = places[number - 1], places[number]
    return rates[number - 1] + (rates[number] - rates[number - 1]) * (place - low) / (high - low)


def _is_resumed(log: Log, series: Rates, at: int) -> bool:
    near = [entry for entry, _ in series[at - FEW : at + FEW]]
    return any(entry is one for entry, _ in log.resumes for one in near)


def step_of(entry: Entry) -> float:
    counted = OF_ALL.search(entry.text)
    return entry.numbers.get("step", float(counted[1]) if counted else 0.0)
