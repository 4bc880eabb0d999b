"""Looks at metrics that a log gives for all ranks and for each: whether counts were added up."""

import math
import re
from collections.abc import Iterator

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

OF_RANK = re.compile(  # workers hold parts of the data or environments, which may count alike
    r"(?P<name>.+)[/_.](rank|gpu|process)[_-]?(?P<rank>\d+)", re.IGNORECASE
)
COUNTS = re.compile(r".*(rows|samples|examples|tokens|num|count|size)$", re.IGNORECASE)
SAME = 1e-4  # by which two means may differ where a log rounds

Parts = dict[str, dict[int, float]]  # by name, the number of each rank


def look_at_metrics(subject: Subject, sheet: Sheet) -> None:
    """A metric of all ranks is the mean over all rows, and not the mean of the ranks' means."""
    rows = [row for row in subject.log if any(OF_RANK.fullmatch(str(name)) for name in row)]
    apart = [one for row in rows for one in _apart(row)]
    wrong = [one for one in apart if one[1]]
    if not apart:
        return
    if not wrong:
        sheet.clear("metrics over ranks", f"{len(apart)} are means over all rows")
        return
    said, _, name = max(wrong, key=lambda one: one[1])
    sheet.find(
        "metric_by_rank",
        COUNTED,
        said,
        f"so in {len(wrong)} of {len(apart)} entries whose ranks differ",
        place=name,
    )


def _apart(row: dict) -> Iterator[tuple[str, float, str]]:
    """What was logged for each metric whose two means differ, and by how much it is wrong."""
    parts = _by_rank(row)
    counts = next((p for name, p in parts.items() if COUNTS.fullmatch(name)), {})
    for name, values in parts.items():
        whole = row.get(name)
        if COUNTS.fullmatch(name) or counts.keys() != values.keys() or len(values) < 2:
            continue
        if not isinstance(whole, int | float) or not sum(counts.values()):
            continue
        over_rows = sum(values[r] * counts[r] for r in values) / sum(counts.values())
        over_ranks = sum(values.values()) / len(values)
        slack = SAME * max(1.0, abs(over_rows))
        if not math.isfinite(over_rows) or abs(over_rows - over_ranks) <= 2 * slack:
            continue
        by_rank = ", ".join(f"{values[r]:.3g} of {counts[r]:g}" for r in sorted(values))
        where = f"step {row['step']}: " if "step" in row else ""
        said = f"{where}{name} is {whole:.3g}, the mean of the ranks ({by_rank})"
        if abs(whole - over_ranks) <= slack:
            yield f"{said}; over all rows it is {over_rows:.3g}", abs(whole - over_rows), name
        else:
            yield said, 0.0, name


def _by_rank(row: dict) -> Parts:
    parts: Parts = {}
    for key, value in row.items():
        found = OF_RANK.fullmatch(str(key))
        if found and isinstance(value, int | float):
            parts.setdefault(found["name"], {})[int(found["rank"])] = float(value)
    return parts
