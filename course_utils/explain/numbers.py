"""Small sums over a series, and how its numbers are quoted."""

from statistics import fmean

from course_utils.explain.log import finite
from course_utils.explain.reading import Entry


def said(entry: Entry, *names: str) -> str:
    """Numbers of an entry under the log's own names, such as "grad_norm nan"."""
    return ", ".join(f"{entry.names.get(n, n)} {entry.numbers[n]:.4g}" for n in names)


def share(part: list, whole: list) -> float:
    return len(part) / len(whole) if whole else 0.0


def thirds(values: list[float]) -> tuple[float, float, float] | None:
    """The means of the first, middle and last third; None for fewer than six finite numbers."""
    values = finite(values)
    if len(values) < 6:
        return None
    size = len(values) // 3
    return fmean(values[:size]), fmean(values[size:-size]), fmean(values[-size:])


def spread(values: list[float]) -> float:
    """Largest minus smallest of the finite numbers."""
    values = finite(values)
    return max(values) - min(values) if values else 0.0
