"""A reward that is written as a sum of parts, and columns of which one falls as it rises."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import Row, rows_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_SUM = re.compile(
    r"\breward\w*\s*=\s*(?P<sum>(?:\d*\.?\d+\s*\*\s*)?[a-z_]\w*(?:\s*\+\s*(?:\d*\.?\d+\s*\*\s*)?[a-z_]\w*)+)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[a-z_]\w*", re.IGNORECASE)
FEW, FALLEN, RISEN, SURE = 4, 0.8, 1.15, 8.4  # rows; of the first value
APART = (
    "the reward is a sum, and its parts go apart: {down} falls from {low0:.3g} to {low1:.3g} while "
    "{up} rises from {high0:.3g} to {high1:.3g}. The policy takes what is easier to get, and the "
    "sum, which alone is looked at, hides what is lost"
)
WEIGH = (
    "pay {up} only where {down} is earned (a product, or a gate), or weigh {down} far more; select "
    "the checkpoint by {down}, and begin again from before it fell. It would not come back by "
    "more steps"
)


def parts_of_the_sum(beside: Beside, log: Log) -> Iterator[Finding]:
    """`reward = 0.5 * a + 0.3 * b`, and rows in which a rises and b falls."""
    parts = (*beside.words, *log.entries, *(e for run in log.earlier for e in run.entries))
    found = next(((part, m) for part in parts if (m := _SUM.search(part.text))), None)
    if found is None:
        return
    line, names = found[0], [one.lower() for one in _NAME.findall(found[1]["sum"])]
    rows = [row for row in rows_of(beside, log) if sum(name in row.numbers for name in names) > 1]
    if len(rows) < FEW:
        return
    moved = {name: _moved(rows, name) for name in names}
    known = {name: pair for name, pair in moved.items() if pair}
    down = min(known, key=lambda name: known[name][1] / max(known[name][0], 1e-9), default="")
    up = max(known, key=lambda name: known[name][1] / max(known[name][0], 1e-9), default="")
    if not down or known[down][1] > FALLEN * known[down][0]:
        return
    if known[up][1] < RISEN * known[up][0]:
        return
    (low0, low1), (high0, high1) = known[down], known[up]
    why = APART.format(down=down, up=up, low0=low0, low1=low1, high0=high0, high1=high1)
    at: Line = line
    proof = tuple(dict.fromkeys((at.says, rows[0].at.says, rows[-1].at.says)))
    advice = WEIGH.format(up=up, down=down)
    yield Finding("parts_apart", SURE, at, proof, why=why, advice=advice)


def _moved(rows: list[Row], name: str) -> tuple[float, float] | None:
    """The first and the last number of a column."""
    values = [row.numbers[name] for row in rows if name in row.numbers]
    return (values[0], values[-1]) if len(values) >= FEW else None
