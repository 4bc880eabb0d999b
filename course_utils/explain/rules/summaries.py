"""What sums up a run that was resumed: all of its steps, and the losses and the time of some."""

import math
import re
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.usual_words import TOTAL_STEPS

_FROM = re.compile(r"Continuing training from global step ([\d,]+)")
_CHECKPOINT = re.compile(r"\bresum\w*\b.*?\bcheckpoint-([\d,]+)", re.IGNORECASE)
_TIME = re.compile(r"train_runtime\W+([\d.]+)")
_SPEEDS = re.compile(r"(train_(?:samples|steps)_per_second)\W+([\d.]+)")
FEW, NEAR, LOW, JUMPS = 3, 0.05, 0.8, 1.1  # losses; of a mean; of it; times the loss before


def over_all_steps(log: Log, beside: Beside) -> Finding | None:
    """train_loss is the mean of the losses since the resume, times their part of all steps."""
    begun, steps, summary = _begun(beside), _all_steps(log, beside), log.summary
    if begun is None or summary is None or summary.names.get("loss") != "train_loss":
        return None
    line, first = begun
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v) and e is not summary]
    before = [v for e, v in series if place(e) < place(line)]
    after = [v for e, v in series if place(line) < place(e) < place(summary)]
    if not 0 < first < steps or len(after) < FEW or _climbs(log, line, before, after):
        return None
    shown, mean, since = summary.numbers["loss"], fmean(after), steps - first
    if shown > LOW * mean or abs(shown * steps / since - mean) > NEAR * mean:
        return None
    proof = [
        f"{said(summary, 'loss')} at {summary.where}, and {line.where} says that the run goes on "
        f"from step {first} of {steps}: {shown:.4g} x {steps} / {since} = "
        f"{shown * steps / since:.4g}, and the mean of the {len(after)} losses logged since is "
        f"{mean:.4g}",
        *_speeds(summary, since, steps),
    ]
    if before:
        proof.append(f"the loss goes on: {before[-1]:.4g} before the resume, {after[0]:.4g} behind")
    return Finding("summary_of_a_resume", 3.4, summary, tuple(proof))


def _begun(beside: Beside) -> tuple[Line, int] | None:
    """The last line that says at which step the run goes on, and the step."""
    for pattern in (_FROM, _CHECKPOINT):
        found = [(line, m) for line in beside.words if (m := pattern.search(line.text))]
        if found:
            line, last = found[-1]
            return line, int(plain_number(last[1]))
    return None


def _all_steps(log: Log, beside: Beside) -> int:
    """The steps of the whole run: as they are planned, or as its speed and its time have them."""
    if said_so := beside.matching(TOTAL_STEPS):
        return int(plain_number(TOTAL_STEPS.search(said_so[1])[1]))
    text = log.summary.text if log.summary else ""
    speeds, time = dict(_SPEEDS.findall(text)), _TIME.search(text)
    rate = speeds.get("train_steps_per_second")
    return round(float(rate) * float(time[1])) if rate and time else 0


def _climbs(log: Log, line: Line, before: list[float], after: list[float]) -> bool:
    """Whether the loss or the rate is higher behind the resume than before it."""
    if before and fmean(after[:FEW]) > JUMPS * fmean(before[-FEW:]):
        return True
    rates = log.series("learning_rate")
    old = [v for e, v in rates if place(e) < place(line)]
    new = [v for e, v in rates if place(e) > place(line)]
    return bool(old and new) and new[0] > JUMPS * old[-1]


def _speeds(summary: Entry, since: int, steps: int) -> list[str]:
    """What the speeds of the summary are once the steps since the resume alone are counted."""
    pairs = [(name, float(value)) for name, value in _SPEEDS.findall(summary.text)]
    shown = (
        f"{name} {value:.4g} x {since} / {steps} = {value * since / steps:.3g}"
        for name, value in pairs
    )
    return [f"in the time since the resume: {', '.join(shown)}"] if pairs else []


RULES_OF_SETTINGS = (over_all_steps,)
