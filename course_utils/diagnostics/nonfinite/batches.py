"""The batch of a step: a private copy of it, its rows, and whether it can be used as it is.

Never changes what it is given: a copy shares no container and no memory with the original.
Shape letters: B = rows of a batch, T = token position.
"""

import copy
import dataclasses
from collections import Counter, UserDict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from course_utils.diagnostics.libraries.trainer import of_columns
from course_utils.errors import BadRequest


class KeptBatch(dict):
    """A Trainer's batch as `compute_loss` got it, already on the device and prepared."""

    num_items_in_batch: Any = None


def rebuild(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """The same tree in new containers, with each tensor and other leaf replaced by `leaf(it)`.

    Containers are lists, tuples, sets, deques, dataclasses, dicts and UserDicts; a mapping of
    another kind may share its memory with its copy, and is a leaf, as all else is.

    >>> batch = {"ids": [1, 2]}
    >>> rebuild(batch, lambda x: x)["ids"] is batch["ids"]
    False
    """
    if isinstance(value, dict | UserDict):
        new = copy.copy(value)  # BatchEncoding and ModelOutput stay what they are
        for key in list(value):
            new[key] = rebuild(value[key], leaf)
        return new
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(item, leaf) for item in value))
    if type(value) is deque:
        return deque((rebuild(item, leaf) for item in value), value.maxlen)
    if type(value) in (list, tuple, set):
        return type(value)(rebuild(item, leaf) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type | nn.Module):
        new = copy.copy(value)
        for name, item in vars(value).items():
            object.__setattr__(new, name, rebuild(item, leaf))
        return new
    return leaf(value)


def keep(batch: Any) -> Any:
    """A private copy: changing or moving the original does not affect it."""
    return rebuild(batch, _clone)


def _clone(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or isinstance(leaf, nn.Parameter):
        return leaf
    return leaf.detach().clone().requires_grad_(leaf.requires_grad)


def tensors_in(batch: Any) -> Iterator[tuple[str, Tensor]]:
    """Each tensor of the batch with a dotted name ("labels", "0.input_ids").

    >>> import torch
    >>> [name for name, _ in tensors_in({"labels": torch.zeros(2), "x": [torch.zeros(1)]})]
    ['labels', 'x.0']
    """
    yield from _named("", batch)


def _named(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            yield from _named(f"{name}.{key}".strip("."), item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type | nn.Module):
        yield from _named(name, vars(value))


def num_rows(batch: Any) -> int:
    """B: the first size of most of the batch's tensors; 0 if there is none.

    >>> import torch
    >>> num_rows({"ids": torch.zeros(4, 7), "mask": torch.zeros(4, 7), "beta": torch.zeros(())})
    4
    """
    sizes = Counter(len(tensor) for _, tensor in tensors_in(batch) if tensor.dim())
    return max(sizes, key=lambda size: (sizes[size], size)) if sizes else 0


def take_rows(batch: Any, rows: list[int]) -> Any:
    """A batch of these rows alone; tensors whose first size is not B stay whole."""
    size = num_rows(batch)

    def cut(leaf: Any) -> Any:
        is_of_rows = isinstance(leaf, Tensor) and leaf.dim() and len(leaf) == size
        return leaf[rows] if is_of_rows else leaf

    return rebuild(batch, cut)


def rows_of_dataset(batch: Any) -> list | None:
    """The rows, if this is one or a list of a data set's rows; None for a batch."""
    is_row = isinstance(batch, Mapping) and batch and not any(True for _ in tensors_in(batch))
    rows = [batch] if is_row else batch
    is_rows = isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)
    return rows if is_rows else None


def collate(batch: Any, trainer: Any) -> Any:
    """The batch; rows of a data set are collated as by the Trainer's own data loader."""
    rows = rows_of_dataset(batch)
    if rows is None:
        return batch
    return trainer.data_collator(of_columns(trainer, rows))


def not_collated(error: Exception) -> BadRequest:
    """The message for a model that raised `error` on rows of a data set."""
    return BadRequest(
        f"these are rows of a data set, not a batch: the model raised {type(error).__name__}",
        why="a model takes tensors of shape (B, T)",
        fix="pass collator(rows), or the Trainer as the target: its collator is used",
    )
