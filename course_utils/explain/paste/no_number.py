"""A nan that stands for no number is dropped once a run has been read."""

import math
from collections import Counter

from course_utils.explain.paste.entries import Entry

PAIR = ("loss", "eval_loss")


def drop_empty_cells(entries: list[Entry]) -> Entry | None:
    """Where training and evaluation have rows of their own, nan stands for a cell without a number.

    Each row has one of the two, and both have numbers again and again. Returns the first row.
    """
    rows = [entry for entry in entries if set(PAIR) <= entry.numbers.keys()]
    held = Counter(tuple(math.isfinite(entry.numbers[n]) for n in PAIR) for entry in rows)
    if set(held) != {(True, False), (False, True)} or min(held.values()) < 2:
        return None
    for entry in rows:
        for name in PAIR:
            if math.isnan(entry.numbers[name]):
                del entry.numbers[name]
    return rows[0]


def drop_kl_of_nothing(entries: list[Entry]) -> Entry | None:
    """A kl of a policy that is nan in all entries, beside finite losses, is in none of them.

    Returns the first of these entries.
    """
    held = [entry for entry in entries if "kl" in entry.numbers]
    losses, norms = _values(entries, "loss", "policy_loss"), _values(entries, "grad_norm")
    is_finite = all(map(math.isfinite, losses + norms)) and (any(losses) or any(norms))
    if not held or not is_finite or not _values(entries, "reward"):
        return None
    if not all(math.isnan(entry.numbers["kl"]) for entry in held):
        return None
    for entry in held:
        del entry.numbers["kl"]
    return held[0]


def _values(entries: list[Entry], *names: str) -> list[float]:
    return [one.numbers[name] for one in entries for name in names if name in one.numbers]
