"""Declares a planted fault: a run that breaks, and what an instrument must say about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Step:
    """One training step of a hand-written loop."""

    model: nn.Module
    loss_of: Callable[[Any], Tensor]
    batch: Any
    optimizer: torch.optim.Optimizer
    scaler: Any = None
    traces_optimizer: bool = False  # forward and backward are healthy: the step is what breaks


@dataclass(frozen=True)
class Fault:
    """A builder of a Step or of a Trainer, and the truth about it.

    `line` is a piece of the source line to be named. `module` is "" outside of any module. The
    last two hold where an inf becomes NaN in another operation later.
    """

    build: Callable[[], Any]
    operation: str
    phase: str = "forward"
    module: str = ""
    line: str = ""
    became_nan: str = ""
    reached: str = "the loss"

    @property
    def name(self) -> str:
        return self.build.__name__


def take_step(planted: Step, loss_of: Callable[[Any], Tensor]) -> float:
    """Forward, backward and optimizer step as in anybody's loop; returns the loss."""
    loss = loss_of(planted.batch)
    if planted.scaler is None:
        loss.backward()
        planted.optimizer.step()
    else:
        planted.scaler.scale(loss).backward()
        planted.scaler.step(planted.optimizer)
        planted.scaler.update()
    planted.optimizer.zero_grad()
    return loss.item()


class Values(nn.Module):
    """Parameters without a forward: what a loss function is tried on."""

    def __init__(self, values: Any, *, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.planted_weight = nn.Parameter(torch.tensor(values, dtype=dtype))


def on_values(loss_of: Callable[[Tensor], Tensor], values: Any, **kwargs) -> Step:
    """A step whose loss is a function of one parameter, so that all happens outside a module."""
    model = Values(values, **kwargs)
    return step(model, lambda _batch: loss_of(model.planted_weight), None)


def step(model: nn.Module, loss_of: Callable[[Any], Tensor], batch: Any, **kwargs) -> Step:
    return Step(model, loss_of, batch, torch.optim.SGD(model.parameters(), lr=1e-3), **kwargs)
