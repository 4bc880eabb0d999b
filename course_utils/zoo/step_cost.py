"""Counts the memory and the operations of one training step; the counts are repeatable.

Counts bytes and operations, not seconds: the same numbers on every machine.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

MIB = 2**20


@dataclass(frozen=True)
class StepCost:
    """The cost of one forward and backward pass, weights and gradients not counted."""

    kept_mib: float  # alive when the forward pass is over: what the graph holds on to
    peak_mib: float  # the most that was alive at any time
    gflop: float  # of matrix products, forward and backward, recomputation included


class _LiveBytes(TorchDispatchMode):
    """Adds up the bytes of every storage that was made under it and is still alive."""

    def __init__(self, known: list[Tensor]) -> None:
        super().__init__()
        self.known = weakref.WeakSet(tensor.untyped_storage() for tensor in known)
        self.live = self.peak = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and tensor.untyped_storage() not in self.known:
                self._add(tensor.untyped_storage())
        return result

    def _add(self, storage: torch.UntypedStorage) -> None:
        self.known.add(storage)
        self.live += storage.nbytes()
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._drop, storage.nbytes())

    def _drop(self, num_bytes: int) -> None:
        self.live -= num_bytes


def step_cost(model: nn.Module, loss_of: Callable[[], Tensor]) -> StepCost:
    """Count what one training step keeps, needs at most, and computes.

    Args:
        model: its trainable parameters get gradients, which are zeroed before and after.
        loss_of: runs the forward pass and returns the loss, a scalar.

    Returns:
        MiB and GFLOP. Storages are counted whole, once, from their creation to their end.

    >>> model = nn.Linear(256, 1024, bias=False)
    >>> cost = step_cost(model, lambda: model(torch.ones(512, 256)).relu().sum())
    >>> f"{cost.kept_mib:.1f} MiB, {cost.gflop:.2f} GFLOP"
    '2.5 MiB, 0.54 GFLOP'
    """
    loss_of().backward()  # so that the gradients exist and are not counted
    model.zero_grad(set_to_none=False)
    parameters = list(model.parameters())
    known = parameters + [p.grad for p in parameters if p.grad is not None]
    live, flops = _LiveBytes(known), FlopCounterMode(display=False)
    with live:
        loss = loss_of()
        kept = live.live
        loss.backward()
    with flops:
        loss_of().backward()
    model.zero_grad()
    return StepCost(kept / MIB, live.peak / MIB, flops.get_total_flops() / 1e9)
