"""A run that had come to the end of its schedule and is resumed with more steps: the rate, made
anew for the longer run, jumps back up: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.judged import judged_losses
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_RESUMES = re.compile(
    r"\bresum\w+\b(?!\W{0,3}(?:none|false|null))|\bfrom[ _](?:the )?(?:last )?checkpoint|"
    r"\bContinu(?:e|ed|ing)\b|\bload_state\b|\b(?:Loaded|Restored)\b.*\b(?:state|checkpoint)",
    re.IGNORECASE,
)
_MEANT_TO_RISE = re.compile(  # schedules that go up again by themselves
    r"with_restarts|warm[ _]?restarts|\bcyclic|one_?cycle|\bSGDR\b|\bT_0\b|num_cycles|re-?warm",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"\b(?:num_train_|num_|max_|total_|n_)?epochs\b['\"]?\s*[=:]?\s*['\"]?\d+.*|"
    r"\b(?:max|total|num_training|train)_(?:train_)?(?:steps|iters)\b['\"]?\s*[=:]?\s*['\"]?\d+.*|"
    r"\bTotal (?:optimization )?steps\s*[=:]\s*[\d,]+",
    re.IGNORECASE,
)
Losses = list[tuple[Entry | Line, float]]
LOW, BACK, HIGHER = 0.05, 0.1, 1.002  # of the rate behind it; of the peak; times the loss
FEW, BEHIND = 2, 8  # entries
SURE = 8.4
HEATED = (
    "the run was at the end of its schedule ({low:.3g}) and goes on with more steps: the decay is "
    "made anew for the longer run, in whose middle this step stands, so that the rate jumps back "
    "to {high:.3g}{part}. That heats the weights up again and undoes what the low rate had "
    "settled: the loss rises though optimizer and schedule were restored"
)
PLAN = (
    "nothing is broken, and the loss comes down again if this run is finished: judge it at its new "
    "end. Else plan the whole length before the first start, or start a new run from these weights "
    "(not a resume) with a small peak rate and a short warm-up; a constant or warm-up-stable-decay "
    "schedule can be made longer without a jump"
)


def heated_up_again(log: Log, beside: Beside) -> Finding | None:
    """The rate is near 0 before a resume, far up behind it and falling, and the loss is higher."""
    resumed = beside.first(_RESUMES)
    if resumed is None or beside.matching(_MEANT_TO_RISE):
        return None
    entries = [entry for run in (*log.earlier, log) for entry in run.entries]
    rates = [entry for entry in entries if math.isfinite(_rate(entry))]
    asked = [one.number or 0.0 for one in beside.of("learning_rate") if (one.number or 1) < 1]
    trained = [(e, e.numbers["loss"]) for e in entries if math.isfinite(_loss(e))]
    losses = [trained, judged_losses(beside, log)]
    peak = max((*map(_rate, rates), *asked), default=0.0)
    for at in range(1, len(rates) - 1):
        before, after = rates[:at], rates[at : at + BEHIND]
        if _jumps(before, after, peak) and (higher := _higher(losses, before[-1], after[0])):
            return _finding(before[-1], after[0], peak, higher, beside)
    return None


def _rate(entry: Entry) -> float:
    return entry.numbers.get("learning_rate", math.nan)


def _loss(entry: Entry) -> float:
    return entry.numbers.get("loss", math.nan)


def _jumps(before: list[Entry], after: list[Entry], peak: float) -> bool:
    """Whether the rate had fallen to nearly 0, is far up at once and falls on, as counts go on."""
    last, first = before[-1], after[0]
    fell = _rate(before[-FEW:][0]) >= _rate(last) and _rate(last) < LOW * _rate(first)
    is_up = _rate(first) > BACK * peak and len(after) >= FEW
    falls = all(_rate(one) >= _rate(two) for one, two in pairwise(after))
    return fell and is_up and falls and _rate(after[-1]) < _rate(first) and _goes_on(last, first)


def _goes_on(last: Entry, first: Entry) -> bool:
    """Whether the step or epoch goes on behind the last one."""
    for name in ("step", "epoch"):
        if name in last.numbers and name in first.numbers:
            return last.numbers[name] <= first.numbers[name] <= 2 * last.numbers[name]
    return False


def _higher(losses: list[Losses], last: Entry, first: Entry) -> list[str]:
    """That a loss, of training or of an evaluation, is higher behind the jump than before it."""
    for name, told in zip(("loss", "eval_loss"), losses, strict=True):
        before = [one for one in told if place(one[0]) < place(first)]
        after = [one for one in told if place(one[0]) >= place(first)][:BEHIND]
        if not before or not after:
            continue
        (part, old), (other, new) = before[-1], max(after, key=lambda one: one[1])
        if new > HIGHER * old:
            return [f"{name} {old:.4g} at {part.where}, {new:.4g} at {other.where}"]
    return []


def _finding(last: Entry, first: Entry, peak: float, higher: list[str], beside: Beside) -> Finding:
    part = _rate(first) / peak
    of_peak = f", {part:.0%} of its peak" if part < 1 else ""
    rates = (
        f"{said(last, 'learning_rate')} at {last.where}, {said(first, 'learning_rate')} at "
        f"{first.where}, and it falls on from there"
    )
    why = HEATED.format(low=_rate(last), high=_rate(first), part=of_peak)
    proof = (rates, *higher, *_lengths(beside))
    return Finding("schedule_stretched", SURE, first, proof, why=why, advice=PLAN)


def _lengths(beside: Beside) -> Iterator[str]:
    """What the paste says of the lengths of both runs, and of the resume."""
    told = dict.fromkeys(line.where for line, _ in beside.all_matching(_LENGTH))
    lines = {line.where: line for line in beside.words}
    for where in list(told)[:2]:
        yield f"{where} says: {' '.join(lines[where].text.split())[:MAX_QUOTE]}"


RULES_OF_SETTINGS = (heated_up_again,)
