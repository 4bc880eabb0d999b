"""Rows that stand in blocks of one label and are not shuffled: `rule(log, beside)`."""

import math
import re
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_LOADER = re.compile(r"\bDataLoader\((?P<given>.*)")
_ORDERED = re.compile(r"\bshuffle\w*['\"]?\s*[=:]\s*['\"]?(?:false|0)\b", re.IGNORECASE)
_MIXES = re.compile(r"shuffle|sampler", re.IGNORECASE)
_OF_OTHERS = re.compile(r"\b(?:val|valid|validation|eval|test|dev)\w*\b", re.IGNORECASE)
_DATA_SET = re.compile(
    r"\b(?:data_files?|dataset_path|path)['\"]?\s*[:=]\s*\S+\.(?:jsonl?|csv|parquet)\b"
)
SETS, SPRINGS = 2, 1.5  # data sets; times the loss of the entry before
FEWEST, PEAKS = 8, 2  # entries of a run; jumps in it
HIGH, TIMES = 0.3, 10.0  # of a loss that jumps; of the middle one
BLOCKS = (
    "the rows stand in blocks of one label each, and are not shuffled: within a block the loss "
    "goes to {low:.2g}, since one answer is right for all of it, and it jumps to {high:.2g} where "
    "the next label begins, every {every}. At the end the model gives every row the last label"
)
ONE_BY_ONE = (
    "the data sets are read one after the other, and not shuffled: the loss jumps, as where the "
    "next one begins, and what is learnt of each is overwritten by those behind it, so that the "
    "last one is what the model does at the end"
)
MIX = (
    "shuffle the rows of all sets together (shuffle: true, or interleave them), and train again "
    "from the base; optimizer and schedule are not reset there"
)
SHUFFLE = (
    "shuffle=True in the loader of the training (or shuffle the rows once, before they are read), "
    "then train again; the label map and the split are not shown to be at fault"
)


def jumps_between_blocks(log: Log, beside: Beside) -> Finding | None:
    """A loss that goes to nothing and jumps at even distances, and a loader that mixes no rows."""
    line = next((line for line in beside.words if _keeps_the_order(line)), None)
    if line is None or log.kind() != "supervised":
        return None
    for run in (*log.earlier, log):
        series = [(e, v) for e, v in run.series("loss") if math.isfinite(v)]
        peaks = _peaks([value for _, value in series])
        if peaks is None:
            continue
        shown = [series[at][0] for at in peaks]
        low = median(value for _, value in series)
        proof = (
            line.says,
            *(f"{one.where}: {said(one, 'loss')}" for one in shown[:3]),
            f"between them the loss is {low:.2g}",
        )
        every = _every(shown, peaks)
        why = BLOCKS.format(low=low, high=max(series[at][1] for at in peaks), every=every)
        return Finding("rows_in_order", 8.4, shown[0], proof, why=why, advice=SHUFFLE)
    return None


def _keeps_the_order(line: Line) -> bool:
    """Whether code or a setting reads the rows of the training as they stand."""
    if _ORDERED.search(line.text):
        return not _OF_OTHERS.search(line.text)
    loader = _LOADER.search(line.text)
    is_whole = bool(loader) and loader["given"].count("(") < loader["given"].count(")")
    return is_whole and not _MIXES.search(line.text) and not _OF_OTHERS.search(line.text)


def _peaks(losses: list[float]) -> list[int] | None:
    """Where a loss jumps up from nearly nothing, if that is at even distances."""
    if len(losses) < FEWEST:
        return None
    middle = median(losses)
    high = [value > max(HIGH, TIMES * middle) for value in losses]
    found = [n for n in range(1, len(losses)) if high[n] and not high[n - 1]]
    apart = {now - before for before, now in pairwise(found)}
    is_even = len(apart) < 2 or max(apart) - min(apart) <= 1
    return found if len(found) >= PEAKS and is_even else None


def _every(shown: list[Entry], peaks: list[int]) -> str:
    steps = [one.numbers.get("step") for one in shown[:2]]
    if None not in steps:
        return f"{steps[1] - steps[0]:g} steps"
    return f"{peaks[1] - peaks[0]} entries"


def sets_in_a_row(log: Log, beside: Beside) -> Finding | None:
    """Several data sets, an order that is kept, and a loss that jumps more than once."""
    line = next((line for line in beside.words if _keeps_the_order(line)), None)
    sets = {name for _, name in beside.all_matching(_DATA_SET)}
    if line is None or len(sets) < SETS or log.kind() != "supervised":
        return None
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    jumps = [(a, b) for a, b in pairwise(series) if b[1] > SPRINGS * a[1] > 0]
    if len(jumps) < PEAKS:
        return None
    proof = [line.says, f"{len(sets)} data sets are named"]
    proof += [
        f"{said(before, 'loss')} at {before.where}, {said(after, 'loss')} at {after.where}"
        for (before, _), (after, _) in jumps[:3]
    ]
    of = ("rows_in_order", 8.0, jumps[0][1][0], tuple(proof))
    return Finding(*of, why=ONE_BY_ONE, advice=MIX)


RULES_OF_SETTINGS = (jumps_between_blocks, sets_in_a_row)
