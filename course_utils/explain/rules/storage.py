"""Two runs that keep their weights in different formats, with one learning rate:
`rule(log, beside)`."""

import re
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

_KEPT_IN = re.compile(
    r"\b(?:(?:param\w*|weights?|master\w*)[ _](?:storage|stored|kept|weights|dtype)|"
    r"exp_avg\w*|optimizer_dtype|(?:optimizer|adam)\w* states?)\b.*?"
    r"\b(?P<format>bfloat16|bf16|float32|fp32)\b",
    re.IGNORECASE,
)
_RATE = re.compile(r"\b(?:lr|learning_rate)['\"]?\s*[=:]\s*(\d+(?:\.\d+)?(?:e-?\d+)?)", re.I)
SAME, MOVES = 0.03, 2.0  # of a number; times the update
TUNED_FOR_ROUNDING = (
    "the learning rate fits the run that keeps its weights in bfloat16, where most small updates "
    "are rounded away: with weights in float32 all of them arrive, each step moves the weights "
    "{:.2g} times as far, and the rate is too high"
)
LOWER = (
    "stay with float32 and lower the learning rate, to about {}, at which an update is as long as "
    "before; not back to weights in bfloat16"
)


def rate_of_other_storage(log: Log, beside: Beside) -> Finding | None:
    """One rate in two runs; the one in float32 takes longer steps, and ends below the other."""
    if not log.earlier:
        return None
    runs = {}
    after = 0
    for run in (*log.earlier, log):
        if stored := _stored(beside, after, place(run.entries[0])):
            runs[_format(stored)] = (run, stored)
        after = place(run.entries[-1])
    if set(runs) != {"bfloat16", "float32"}:
        return None
    (old, was), (new, now) = runs["bfloat16"], runs["float32"]
    both = [run.series("update_size") for run in (old, new)]
    rates = {float(_RATE.search(words)[1]) for _, words in beside.all_matching(_RATE)}
    if not all(both) or len(rates) > 1:
        return None
    (before, small), (entry, large) = both[0][0], both[1][0]
    ratio = large / small if small > 0 else 0.0
    worse = _worse(old, new)
    if ratio < MOVES or not worse:
        return None
    proof = (
        f"{was.where} says: {was.text[:100]}; {now.where} says: {now.text[:100]}",
        f"{said(before, 'update_size')} at {before.where}, {said(entry, 'update_size')} at "
        f"{entry.where}: {ratio:.2g} times as far in the first step that is logged",
        worse,
    )
    rate = beside.number("learning_rate")
    lower = f"{rate.number / ratio:.1g}" if rate and rate.number else "a third or a quarter of it"
    return Finding(
        "rate_too_high",
        8.5,
        entry,
        proof,
        why=TUNED_FOR_ROUNDING.format(ratio),
        advice=LOWER.format(lower),
    )


def _stored(beside: Beside, after: int, until: int) -> Line | None:
    """The first line above a run that says in which format its weights or moments are kept."""
    lines = (line for line in beside.words if after < place(line) < until)
    return next((one for one in lines if _KEPT_IN.search(one.text)), None)


def _format(line: Line) -> str:
    return "bfloat16" if _KEPT_IN.search(line.text)["format"].lower().startswith("b") else "float32"


def _worse(old: Log, new: Log) -> str:
    """By which number the one run ends worse than the other; "" if by none."""
    for name, sign in (("reward", 1), ("eval_accuracy", 1), ("eval_loss", -1), ("loss", -1)):
        one, other = (finite(run.values(name)) for run in (old, new))
        third = min(len(one), len(other)) // 3
        if not third:
            continue
        ends = fmean(one[-third:]), fmean(other[-third:])
        if sign * (ends[0] - ends[1]) > SAME * abs(ends[0]):
            return (
                f"{name} is {ends[0]:.3g} in the last third of the one, {ends[1]:.3g} of the other"
            )
    return ""


RULES_OF_SETTINGS = (rate_of_other_storage,)
