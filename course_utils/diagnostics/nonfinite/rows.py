"""Finds the row of the batch that is to blame: from the trail, or by trying each row alone."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from course_utils.diagnostics.nonfinite.batches import num_rows, take_rows, tensors_in
from course_utils.diagnostics.nonfinite.events import Event
from course_utils.diagnostics.nonfinite.explain import PRODUCTS

MAX_TRIED = 64  # rows that are tried alone, each one more forward and backward pass


def rows_of(event: Event, batch: Any) -> tuple[int, ...]:
    """The non-finite rows, if the tensor's first axis is that of the batch's rows (B, ...).

    A first axis of B * T (logits laid flat) counts as well. () where it is neither.
    """
    size = num_rows(batch)
    length = event.shape[0] if event.shape else 0
    if size < 1 or not event.rows:
        return ()
    is_of_batch = event.is_operation or _is_tensor_of(batch, event.module)
    if length == size and is_of_batch and _is_not_a_weight(event):
        return event.rows
    widths = {t.shape[1] - cut for _, t in tensors_in(batch) if t.dim() > 1 for cut in (0, 1)}
    if event.is_operation and length % size == 0 and length // size in widths:
        return tuple(sorted({row // (length // size) for row in event.rows}))
    return ()


def _is_tensor_of(batch: Any, name: str) -> bool:
    return name in dict(tensors_in(batch))


def _is_not_a_weight(event: Event) -> bool:
    """Whether it cannot be a weight's gradient, as a product in a backward pass may be."""
    if event.phase == "backward":
        return event.operation not in PRODUCTS
    return event.phase in ("forward", "already in the input")


def try_rows(batch: Any, is_bad: Callable[[Any], bool]) -> tuple[int, ...]:
    """The rows that are bad alone (for pairs: as a pair i, i + B/2).

    () if none is, if all are although there are several, or if the loss refuses a single row.
    """
    size = num_rows(batch)
    if not 1 < size <= MAX_TRIED:
        return (0,) if size == 1 else ()
    for picks in ([[i] for i in range(size)], [[i, i + size // 2] for i in range(size // 2)]):
        with suppress(Exception):  # e.g. a preference loss cannot halve one row
            bad = [pick for pick in picks if is_bad(take_rows(batch, pick))]
            is_telling = 0 < len(bad) < len(picks)
            return tuple(row for pick in bad for row in pick) if is_telling else ()
    return ()
