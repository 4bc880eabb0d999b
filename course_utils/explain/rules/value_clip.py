"""PPO: a critic that clipping of its values holds back: `rule(log, beside)`."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_RANGE = re.compile(
    r"\b(?:value[-_]clip(?:[-_](?:range|eps))?|cliprange[-_]value|clip[-_]range[-_]vf|"
    r"value[-_]eps[-_]clip)['\"]?(?:\s*[:=]\s*|\s+)['\"]?(?P<value>\d+(?:\.\d+)?)(?![\w.])"
)
FEW, FAR = 4, 10.0  # entries; ranges between value and return
SLOWEST, FASTEST = 0.5, 1.1  # of a range for each step
HELD = (
    "the values rise by {step:.3g} for each batch of replies, no more than the range of {limit:g} "
    "to which they are clipped: a value that has moved so far from the one of the rollout has no "
    "gradient any more, whatever the critic's learning rate. The returns are about {far:.0f} such "
    "ranges away from the first value, so that the advantages have next to no baseline until then"
)
WIDEN = (
    "a range for the values that fits the size of the returns, or none at all; or normalise the "
    "rewards (or returns); begin the head with the mean return as its bias. More steps of the "
    "critic or a higher rate change nothing"
)


def held_by_its_range(log: Log, beside: Beside) -> Finding | None:
    """The mean value walks to the mean return in steps of the clip range."""
    limit, series = _limit(beside), _values(log)
    if limit is None or len(series) < FEW:
        return None
    line, size = limit
    (first, low, goal), (last, high, _) = series[0], series[-1]
    steps = last.numbers["step"] - first.numbers["step"]
    if steps <= 0 or abs(goal - low) < FAR * size or abs(goal - high) < size:
        return None
    toward = math.copysign(1.0, goal - low)
    rates = [
        toward * (now - before) / (one.numbers["step"] - other.numbers["step"])
        for (other, before, _), (one, now, _) in pairwise(series)
        if one.numbers["step"] > other.numbers["step"]
    ]
    if not rates or not SLOWEST * size <= min(rates) or max(rates) > FASTEST * size:
        return None
    pace = abs(high - low) / steps
    proof = (
        f"{said(first, 'critic_value', _goal(first))} at {first.where}; "
        f"{said(last, 'critic_value', _goal(last))} at {last.where}, {steps:g} steps later",
        line.says,
    )
    why = HELD.format(step=pace, limit=size, far=abs(goal - low) / size)
    return Finding("values_held_back", 9.0, first, proof, why=why, advice=WIDEN)


def _limit(beside: Beside) -> tuple[Line, float] | None:
    """The last range that is set outside of sentences."""
    found = [
        (line, float(one["value"]))
        for line in beside.words
        if not is_prose(line.text)
        for one in _RANGE.finditer(line.text)
    ]
    return found[-1] if found and found[-1][1] > 0 else None


def _values(log: Log) -> list[tuple[Entry, float, float]]:
    """Entries with a step, a mean value and what it is to become."""
    some = [e for e in log.entries if {"step", "critic_value"} <= e.numbers.keys() and _goal(e)]
    found = [(e, e.numbers["critic_value"], e.numbers[_goal(e)]) for e in some]
    return [one for one in found if math.isfinite(one[1]) and math.isfinite(one[2])]


def _goal(entry: Entry) -> str:
    return next((name for name in ("returns", "reward") if name in entry.numbers), "")


RULES_OF_SETTINGS = (held_by_its_range,)
