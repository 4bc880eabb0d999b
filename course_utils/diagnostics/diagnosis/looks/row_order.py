"""Judges the order of the rows by their labels: mixed in each batch, or one after the other."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet

FEWEST, WINDOWS = 64, 6  # rows; groups of rows that were read together
WINDOW = 8  # rows, at least
TOO_MANY = 64  # different labels: they are amounts or words
ONE_SIDED = 0.75  # chance that two rows have one label: too alike to tell an order
BLOCKS = 0.5  # of the way from mixed rows, 0, to one label a batch, 1
LASTS = 0.25  # the same for neighbouring batches


def judge_order(batches: Sequence[list[int]], whole: Sequence[int], sheet: Sheet) -> None:
    """Compare how alike the labels of one batch are with how alike those of all rows are.

    Args:
        whole: the labels of the data set, where they are known: a short run may see but one.
    """
    windows = [one for one in _windows(batches) if len(one) >= WINDOW]
    rows = [label for one in windows for label in one]
    labels = whole or rows
    if len(windows) < WINDOWS or len(rows) < FEWEST or len(set(labels)) > TOO_MANY:
        return
    by_chance = _alike(Counter(labels), Counter(labels))
    if by_chance > ONE_SIDED or len(set(labels)) < 2:
        return
    within, block, lasts = _in_blocks(windows, by_chance)
    said = (
        f"two rows of one batch have the same label with probability {within:.2f}, two of all rows "
        f"with {by_chance:.2f}; {len(windows)} batches"
    )
    if block < BLOCKS or lasts < LASTS:
        sheet.clear("labels by batch", said)
        return
    first, last = (", ".join(map(str, sorted(set(one)))) for one in (windows[0], windows[-1]))
    more = f"the first batch has the labels {first}; the last one {last}"
    follows = (
        "a batch has next to one label only, and the model forgets those of the batches before"
        if len(set(rows)) > 1
        else f"all {len(rows)} rows that were read have the label {rows[0]}, and no other is learnt"
    )
    sheet.find(
        "rows_in_order",
        COUNTED,
        said,
        more,
        place="the order of the rows: sampler, shuffle, stream",
        why=f"the rows come sorted by their label and are not shuffled: {follows}",
        advice="shuffle=True in the loader; for a stream, which no Trainer shuffles, "
        "stream.shuffle(seed=0, buffer_size=...) with a buffer that spans the labels, or a file "
        "that is shuffled",
    )


def _in_blocks(windows: list[list[int]], by_chance: float) -> tuple[float, float, float]:
    """How alike the labels of a batch are; how far that, and neighbours, are from mixed rows."""
    within = sum(map(_within, windows)) / len(windows)
    counts = [Counter(one) for one in windows]
    beside = sum(_alike(a, b) for a, b in pairwise(counts)) / (len(counts) - 1)
    return (within, *((one - by_chance) / (1 - by_chance) for one in (within, beside)))


def _windows(batches: Sequence[list[int]]) -> list[list[int]]:
    """The batches; small ones are joined with those behind them."""
    found: list[list[int]] = []
    for batch in batches:
        if found and len(found[-1]) < WINDOW:
            found[-1] = found[-1] + batch
        else:
            found.append(list(batch))
    return found


def _within(labels: list[int]) -> float:
    """The chance that two different rows have the same label."""
    size = len(labels)
    return sum(n * (n - 1) for n in Counter(labels).values()) / (size * (size - 1))


def _alike(one: Counter, other: Counter) -> float:
    """The chance that a row of one and a row of the other have the same label."""
    return sum(n * other[label] for label, n in one.items()) / (one.total() * other.total())
