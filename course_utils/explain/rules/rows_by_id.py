"""Rows that are printed by their ids, in a run that was resumed beside the straight one:
`rule(log, beside)`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.log import Log

_IDS = re.compile(
    r"\b(?:sample_|row_|example_)?(?:ids?|idx|indices|rows?)\b['\"]?\W{0,3}\[(\d+(?:,? +\d+){2,})"
)
_STEP = re.compile(
    r"\b(?:(?:global_)?step|upd(?:ate)?|iter(?:ation)?)['\"]?\s*[=:]?\s*(\d+)", re.IGNORECASE
)
_SKIPS = re.compile(r"\bskip_first_batches\b")
FEW = 2  # steps
OF_ANOTHER_EPOCH = (
    "the run goes on with the rows of another epoch: at each step behind the resume come the ids "
    "that the straight run had {} steps before, so that the order of the rows was made for an "
    "earlier epoch, which no state of weights or optimizer does. Some rows come again and others "
    "never; a lower loss there is that of rows seen before"
)
GIVE_THE_EPOCH = (
    "give the epoch to the loader that is read: set_epoch(epoch) on what skips the first batches "
    "(skip_first_batches returns a new loader that counts its epochs from 0), or a newer version "
    "of the library that does it; or save and resume at the end of an epoch; then compare the ids "
    "again"
)


@dataclass(frozen=True)
class Batch:
    """The ids that a line prints for a step."""

    at: Entry | Line
    step: int
    ids: tuple[str, ...]

    @property
    def said(self) -> str:
        return f"step {self.step} at {self.at.where}: {', '.join(self.ids)}"[:MAX_QUOTE]


def rows_of_another_epoch(log: Log, beside: Beside) -> Finding | None:
    """A step that stands twice has other ids the second time: those of a step far before it."""
    seen: dict[int, Batch] = {}
    where: dict[tuple[str, ...], Batch] = {}
    moved: list[tuple[Batch, Batch, Batch]] = []
    for one in _batches(log, beside):
        straight, other = seen.get(one.step), where.get(one.ids)
        if straight and other and straight.ids != one.ids and other.step < one.step:
            moved.append((one, straight, other))
        seen.setdefault(one.step, one)
        where.setdefault(one.ids, one)
    back = {one.step - other.step for one, _, other in moved}
    if len(moved) < FEW or len(back) != 1:
        return None
    (one, straight, other), (steps,) = moved[0], back
    proof = [
        f"{one.said}; the same ids at {other.said.partition(':')[0]}",
        f"the straight run: {straight.said}",
        f"so in {len(moved)} steps, each time {steps} steps before",
    ]
    if skips := beside.matching(_SKIPS):
        proof.append(skips[0].says)
    why = OF_ANOTHER_EPOCH.format(steps)
    key = "resumed_without_state"
    return Finding(key, 8.6, one.at, tuple(proof), why=why, advice=GIVE_THE_EPOCH)


def _batches(log: Log, beside: Beside) -> Iterator[Batch]:
    """All lines that print a step and the ids of its rows, in order."""
    entries = [entry for run in (*log.earlier, log) for entry in run.entries]
    for part in sorted((*entries, *(line for line in beside.words)), key=place):
        ids, step = _IDS.search(part.text), _STEP.search(part.text)
        if ids and step:
            yield Batch(part, int(step[1]), tuple(re.findall(r"\d+", ids[1])))


RULES_OF_SETTINGS = (rows_of_another_epoch,)
