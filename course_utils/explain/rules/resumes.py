"""A run that goes on at its step and rate, with other weights or rows: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, spread

Losses = list[tuple[Entry, float]]
FEW, ENOUGH, MANY = 3, 5, 8  # entries
SAME_RATE, JUMPED = 0.1, 1.5  # of a rate; times the last loss
LOWER, CLEAR, LEVEL = 0.92, 2.0, 0.4  # of the losses before; times their spreads; of the drop
_TIED = re.compile(r"tie_word_embeddings|tied? (?:word )?embeddings", re.IGNORECASE)
LOST = (
    "a part of the weights did not come back: step and rate go on, and the first loss behind the "
    "resume, which no update has touched, is above that of the very start; a lost optimizer state "
    "shows only behind the next updates"
)
OF_THE_HEAD = (
    ". The head is the first suspect: where embedding and head are meant to be one table and are "
    "two in the run, the checkpoint holds one of them and the trained head is lost"
)
COMPARE = (
    "compare the names of the saved tensors, and the norm of each, with those of the model just "
    "before the save and just after the load, lm_head and embed_tokens first; save what is "
    "missing, or tie the two before training; a checkpoint without it cannot be resumed cleanly"
)
ROWS_AGAIN = (
    "rows that were trained on come again: step and rate go on where the run stopped, and the loss "
    "is lower at once and stays so, which no state of the optimizer does. The order of the data, "
    "or the place in it, was not restored: some rows come twice and others never; the lower loss "
    "is no better model"
)
RESTORE = (
    "a sampler whose order depends on seed and epoch and whose place is saved (consumed samples "
    "within the epoch); print the ids of the first rows behind the resume and compare them with "
    "those before; go on again from that checkpoint"
)


def part_of_the_weights_lost(log: Log, beside: Beside) -> Finding | None:
    """The first loss behind a resume is above that of the start, at the rate of before."""
    for line, before, after in _resumed(log):
        (last, low), (entry, high) = before[-1], after[0]
        start = before[0][1]
        if len(before) < ENOUGH or low > 0.9 * start or high < max(start, JUMPED * low):
            continue
        shown = [n for n in ("step", "loss", "learning_rate") if n in entry.numbers]
        proof = [
            f"{_told(line)}; {said(last, *(n for n in shown if n in last.numbers))} before it, "
            f"{said(entry, *shown)} behind it",
            f"the start of the run: {said(before[0][0], 'loss')} at {before[0][0].where}",
        ]
        tied = beside.matching(_TIED)
        if tied:
            proof.append(f"{tied[0].where} speaks of {tied[1]}")
        key, why = ("tie_broken", LOST + OF_THE_HEAD) if tied else ("resumed_without_state", LOST)
        return Finding(key, 8.2, entry, tuple(proof), why=why, advice=COMPARE)
    return None


def rows_come_again(log: Log, beside: Beside) -> Finding | None:
    """The loss is level, lower at once behind a resume, and level there, at the rate of before."""
    for line, before, after in _resumed(log):
        old, new = [v for _, v in before[-ENOUGH:]], [v for _, v in after[:ENOUGH]]
        if len(old) < ENOUGH or len(new) < FEW or _is_new_epoch(before[-1][0], after[0][0]):
            continue
        drop = fmean(old) - fmean(new)
        is_level = abs(old[0] - old[-1]) < LEVEL * drop
        is_clear = max(new) < min(old) and drop > CLEAR * (spread(old) + spread(new))
        if not is_level or not is_clear or fmean(new) > LOWER * fmean(old) or min(new) < 0:
            continue
        entry = after[0][0]
        proof = [
            f"{_told(line)}; the loss is {min(old):.4g} to {max(old):.4g} before it and "
            f"{min(new):.4g} to {max(new):.4g} behind it",
            *_same_step(before, after),
            *_back_again(after, fmean(old) - drop / 2),
        ]
        why, advice = ROWS_AGAIN, RESTORE
        return Finding("resumed_without_state", 7.6, entry, tuple(proof), why=why, advice=advice)
    return None


def _resumed(log: Log) -> Iterator[tuple[Line, Losses, Losses]]:
    """Each resume at the same rate: its line, the losses before it and behind it."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    places = {id(entry): number for number, (entry, _) in enumerate(series)}
    seen: set[int] = set()
    for entry, line in log.resumes if log.kind() == "supervised" else ():
        at = places.get(id(entry))
        if at is None or at in seen or at + 1 >= len(series):
            continue
        seen.add(at)
        before, after = series[: at + 1], series[at + 1 :]
        if _goes_on(before[-1][0], after[0][0]):
            yield line, before, after


def _goes_on(last: Entry, entry: Entry) -> bool:
    """Whether step and rate are those of a run that goes on, from its end or somewhat before."""
    steps = [one.numbers.get("step") for one in (last, entry)]
    rates = [one.numbers.get("learning_rate") for one in (last, entry)]
    if None in steps or None in rates or not steps[0] > 0 or not rates[0] > 0:
        return False
    return 0.8 < steps[1] / steps[0] < 1.2 and abs(rates[1] / rates[0] - 1) < SAME_RATE


def _is_new_epoch(last: Entry, entry: Entry) -> bool:
    """Whether an epoch ends between two entries: a lower loss in the next one is no fault."""
    epochs = [one.numbers.get("epoch") for one in (last, entry)]
    return None not in epochs and math.floor(epochs[0]) != math.floor(epochs[1])


def _same_step(before: Losses, after: Losses) -> list[str]:
    """A step that was logged before the resume and behind it, with both losses."""
    old = {entry.numbers.get("step"): entry for entry, _ in before}
    for entry, _ in after[:MANY]:
        if (other := old.get(entry.numbers.get("step"))) is not None:
            shown = f"{said(other, 'step', 'loss', 'learning_rate')} at {other.where}"
            return [f"{shown}; {said(entry, 'step', 'loss', 'learning_rate')} at {entry.where}"]
    return []


def _back_again(after: Losses, middle: float) -> list[str]:
    """Where the loss is back at its level from before for some entries."""
    for at in range(FEW, len(after) - FEW + 1):
        if all(loss > middle for _, loss in after[at : at + FEW]):
            entry = after[at][0]
            return [f"{said(entry, 'loss')} at {entry.where}: back at the level from before"]
    return []


def _told(line: Line) -> str:
    return line.says


RULES_OF_SETTINGS = (part_of_the_weights_lost, rows_come_again)
