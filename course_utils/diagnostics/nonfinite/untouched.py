"""Restores what replaying a user's loss function changes besides tensors of the model.

Attributes of the modules and of the Trainer, the lists and dicts they hold, and what a loss
function encloses. Everything is put back in place, so that who else holds it sees it too.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import CellType
from typing import Any

import torch
from torch import Tensor, nn

CONTAINERS = (dict, list, set, deque)
MAX_VALUES = 2**20  # of a tensor that is held as an attribute: a running mean, not a data set
OF_TORCH = frozenset(vars(nn.Module()))  # parameters, buffers, hooks, submodules


@contextmanager
def untouched(*owners: Any) -> Iterator[None]:
    """In the block, the owners' attributes may change; afterwards they are as before.

    Args:
        owners: modules, Trainers, functions (what they enclose) and bound methods (their object).

    >>> class Counter:
    ...     calls = [1]
    >>> counter = Counter(); counter.seen = [1]
    >>> with untouched(counter):
    ...     counter.seen.append(2); counter.more = 1
    >>> counter.seen, hasattr(counter, "more")
    ([1], False)
    """
    with ExitStack() as stack:  # each is put back whatever becomes of the others
        for owner in owners:
            for put_back in _ways_back(owner):
                stack.callback(put_back)
        yield


def _ways_back(owner: Any) -> Iterator[Callable[[], None]]:
    owner = getattr(owner, "__self__", owner)
    seen: set[int] = set()
    for cell in getattr(owner, "__closure__", None) or ():
        with suppress(ValueError):  # a variable that has no value yet
            yield partial(_refill_cell, cell, cell.cell_contents)
            yield from _contents_back(cell.cell_contents, seen)
    if hasattr(owner, "__dict__") and not isinstance(owner, type):
        own = dict(vars(owner))
        yield partial(_refill, vars(owner), own)
        for name, value in own.items():
            if name not in OF_TORCH:
                yield from _contents_back(value, seen)
            if type(value) is Tensor and not value.requires_grad and value.numel() <= MAX_VALUES:
                yield partial(_overwrite, value, value.clone())


def _contents_back(value: Any, seen: set[int]) -> Iterator[Callable[[], None]]:
    """Functions that restore a container and those inside it, each once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, CONTAINERS) and type(value).__module__ in ("builtins", "collections"):
        yield partial(_refill, value, copy.copy(value))
        for item in list(value.values() if isinstance(value, dict) else value):
            yield from _contents_back(item, seen)


def _refill(container: Any, content: Any) -> None:
    container.clear()
    put_in = getattr(container, "update", None) or container.extend
    put_in(content)


def _refill_cell(cell: CellType, content: Any) -> None:
    cell.cell_contents = content


def _overwrite(tensor: Tensor, values: Tensor) -> None:
    with torch.no_grad():
        if tensor.shape == values.shape and not torch.equal(tensor, values):
            tensor.copy_(values)
