"""A loss that falls by a step where an epoch begins: `rule(log, beside)`."""

import math
import re
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, spread

MANY, JUMPED = 8, 2.5  # entries; times the usual distance of two
_CUT = re.compile(
    r"^\W*(?:\.{3,}|\u2026|snip|skipp\w+|cut|omitted|(?:\d+ )?(?:more )?(?:lines|entries)\b.*)\W*$",
    re.IGNORECASE,
)


def falls_by_epochs(log: Log, beside: Beside) -> Finding | None:
    """The loss is level, drops where the epoch passes a whole number, and is level there."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v) and "epoch" in e.numbers]
    if log.kind() != "supervised" or len(series) < MANY:
        return None
    usual = median(b.numbers["epoch"] - a.numbers["epoch"] for (a, _), (b, _) in pairwise(series))
    for at in range(3, len(series) - 2):
        (last, _), (entry, _) = series[at - 1], series[at]
        epochs = [math.floor(one.numbers["epoch"] - 0.02) for one in (last, entry)]
        before, after = [v for _, v in series[:at][-3:]], [v for _, v in series[at:][:3]]
        drop = min(before) - max(after)
        is_step = drop > max(0.05 * abs(before[-1]), 2 * spread(before), 2 * spread(after))
        if epochs[1] != epochs[0] + 1 or not is_step or epochs[1] < 1:
            continue
        if entry.numbers["epoch"] - last.numbers["epoch"] > JUMPED * usual:
            continue
        if not _is_cut(beside, last, entry):
            proof = (
                f"{last.where}: {said(last, 'loss', 'epoch')}; {entry.where}: "
                f"{said(entry, 'loss', 'epoch')}, and not back again"
            )
            return Finding("falls_by_epochs", 3.0, entry, (proof,))
    return None


def _is_cut(beside: Beside, last: Entry, entry: Entry) -> bool:
    """Whether a line between two entries says that others were left out."""
    between = (line for line in beside.words if place(last) < place(line) < place(entry))
    return any(_CUT.search(line.text) for line in between)


RULES_OF_SETTINGS = (falls_by_epochs,)
