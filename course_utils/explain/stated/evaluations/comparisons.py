"""A table that compares runs: the loss against the steps of accumulation, one loss with others."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, number_of
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.tables import cells
from course_utils.explain.stated.steps.rounded import gap_as_the_rate_falls

_ACCUMULATION = re.compile(r"accum|\bgrad\w*[ _.-]acc|\bga[s]?\b", re.IGNORECASE)
_LOSS = re.compile(r"(?<!eval)(?<!eval[_ ])(?<!val[_ ])loss", re.IGNORECASE)
_JUDGED = re.compile(r"\b(?:eval|val|test)\w*[_ ]loss", re.IGNORECASE)
NEAR, LEVEL = 1.6, 1.15  # how far apart ratios may be; how far the losses of an evaluation
WEIGHT = 9.0


def compared(beside: Beside, _log: Log) -> Iterator[Finding]:
    """What the runs of a table show beside each other."""
    yield from summed(beside)
    yield from gap_as_the_rate_falls(beside)


def summed(beside: Beside) -> Iterator[Finding]:
    """The loss of each run is proportional to its steps of accumulation."""
    head: list[str] = []
    rows: list[tuple[Line, list[str]]] = []
    for line in beside.words:
        found = cells(line.text)
        if not found or not any(map(str.strip, found)):
            continue
        if any(_ACCUMULATION.search(x) for x in found) and any(_LOSS.search(x) for x in found):
            head, rows = found, []
        elif head and len(found) == len(head) and number_of(found[_at(head, _LOSS)]) is not None:
            rows.append((line, found))
    if len(rows) >= 3 and (one := _judged(head, rows)):
        yield one


def _at(head: list[str], pattern: re.Pattern) -> int:
    return next(n for n, cell in enumerate(head) if pattern.search(cell))


def _judged(head: list[str], rows: list[tuple[Line, list[str]]]) -> Finding | None:
    accumulation, loss = _at(head, _ACCUMULATION), _at(head, _LOSS)
    pairs = [(number_of(row[accumulation]), number_of(row[loss])) for _, row in rows]
    if not all(steps and value and value > 0 for steps, value in pairs):
        return None
    ratios = [value / steps for steps, value in pairs]
    steps = [steps for steps, _ in pairs]
    if max(ratios) > NEAR * min(ratios) or max(steps) < 4 * min(steps):
        return None
    proof = [
        f"{rows[0][0].where} and after: " + ", ".join(f"{s:g} steps {v:g}" for s, v in pairs),
        f"the loss over the steps of accumulation is {min(ratios):.3g} to {max(ratios):.3g} in "
        "every run: the share of one micro-batch",
    ]
    if any(_JUDGED.search(cell) for cell in head):
        at = _at(head, _JUDGED)
        judged = [value for _, row in rows if (value := number_of(row[at]))]
        if judged and max(judged) < LEVEL * min(judged):
            proof.append(f"{head[at]} is {min(judged):g} to {max(judged):g}: the models are alike")
    why = (
        "the loss grows in proportion to the steps of gradient accumulation: the micro-batches are "
        "summed where they should be averaged, and so are the gradients"
    )
    return Finding("loss_off_by_a_factor", WEIGHT, rows[-1][0], tuple(proof), why=why)
