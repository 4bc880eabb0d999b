"""The gradient of one optimizer step for one split of the rows. Judges nothing, keeps nothing.

A split is a list of ranks, each a list of micro-batches, each a list of rows. N = weights.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.diagnostics.libraries.pytorch import dropouts
from course_utils.diagnostics.libraries.trainer import num_items_of
from course_utils.diagnostics.libraries.trl import COUNTERS
from course_utils.diagnostics.splits.ranks import believing_in

Rows = list
Split = list[list[Rows]]
DROPOUTS = ("attention_dropout", "attn_dropout", "dropout")  # floats that modules read themselves


@dataclass(frozen=True)
class Step:
    """The gradient that one step hands to the optimizer."""

    gradient_N: Tensor  # float64, every trainable weight
    logged: float | None  # the loss as the Trainer's log would say it; None if nobody said one


def cut(rows: Rows, size: int, num_ranks: int = 1) -> Split:
    """Rows in order: the first share for rank 0, micro-batches of `size` (the last may be short).

    >>> cut([1, 2, 3, 4], 1, 2)
    [[[1], [2]], [[3], [4]]]
    """
    share = len(rows) // num_ranks
    ranks = [rows[r * share : (r + 1) * share] for r in range(num_ranks)]
    return [[own[at : at + size] for at in range(0, share, size)] for own in ranks]


class TrainerStep:
    """A Trainer's own step: its collator, its count, its `training_step`, and no optimizer."""

    def __init__(self, trainer) -> None:
        self.trainer, self.model = trainer, trainer.model
        self._collate_fn = trainer.get_train_dataloader().collate_fn

    def collated(self, rows: Rows):
        return self._collate_fn(copy.deepcopy(list(rows)))

    def __call__(self, split: Split) -> Step:
        batches = [[self.collated(rows) for rows in rank] for rank in split]
        counts = self._counts(batches)
        gradients, logged = [], []
        with believing_in(len(split)):
            for rank, count in zip(batches, counts, strict=True):
                self.model.zero_grad()
                logged.append(self._one_rank(rank, count))
                gradients.append(gradient_of(self.model))
        mean_N = torch.stack(gradients).mean(0)  # what DistributedDataParallel does
        return Step(mean_N, sum(logged) / len(logged))

    def _counts(self, batches: list) -> list:
        """The Trainer's counts on each rank; their sum if it adds them up over the ranks."""
        own = [num_items_of(self.trainer, rank) for rank in batches]
        if self.trainer.args.average_tokens_across_devices and None not in own:
            return [sum(own)] * len(own)
        return own

    def _one_rank(self, batches: list, count) -> float:
        with _accumulating(self.trainer, len(batches)):
            losses = [self.trainer.training_step(self.model, batch, count) for batch in batches]
        return sum(loss.item() for loss in losses)


@contextmanager
def _accumulating(trainer, num_micro: int) -> Iterator[None]:
    """Make the trainer and its arguments say that a step has this many micro-batches."""
    before = trainer.args.gradient_accumulation_steps
    trainer.current_gradient_accumulation_steps = num_micro
    trainer.args.gradient_accumulation_steps = num_micro
    try:
        yield
    finally:
        trainer.args.gradient_accumulation_steps = before


class FunctionStep:
    """A hand-written loop: `step(micro_batches)` leaves its gradient in the model's weights."""

    def __init__(self, step: Callable[[list[Rows]], object], model: nn.Module) -> None:
        self._step, self.model = step, model

    def __call__(self, split: Split) -> Step:
        self.model.zero_grad()
        said = self._step([list(rows) for rows in split[0]])
        logged = None
        with suppress(TypeError, ValueError, RuntimeError):
            logged = float(said.detach() if isinstance(said, Tensor) else said)
        return Step(gradient_of(self.model), logged)


def gradient_of(model: nn.Module) -> Tensor:
    """All gradients in one row, float64, on the CPU; a weight without one counts as zeros."""
    parts = []
    for weight in model.parameters():
        if weight.requires_grad:
            grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
            parts.append(grad.detach().double().cpu().flatten())
    return torch.cat(parts)


@contextmanager
def left_as_it_was(step) -> Iterator[None]:
    """In the block no dropout; afterwards gradients, modes, random numbers, metrics as before."""
    model, trainer = step.model, getattr(step, "trainer", None)
    grads = [(w, w.grad) for w in model.parameters()]
    modes = [(m, m.training) for m in model.modules()]
    kept = (*COUNTERS, "current_gradient_accumulation_steps")
    before = {k: copy.deepcopy(vars(trainer)[k]) for k in kept if trainer and k in vars(trainer)}
    for weight, _ in grads:
        weight.grad = None
    try:
        with torch.random.fork_rng(), _without_dropout(model):
            yield
    finally:
        for weight, grad in grads:
            weight.grad = grad
        for module, was_training in modes:
            module.training = was_training
        for name in kept:
            if name in before:
                setattr(trainer, name, before[name])
            elif trainer is not None and name in vars(trainer):
                delattr(trainer, name)


@contextmanager
def _without_dropout(model: nn.Module) -> Iterator[None]:
    changed = []
    for module in model.modules():
        names = ("p",) if isinstance(module, dropouts()) else DROPOUTS
        for name in names:
            value = getattr(module, name, None)
            if isinstance(value, float) and value:
                changed.append((module, name, value))
                setattr(module, name, 0.0)
    try:
        yield
    finally:
        for module, name, value in changed:
            setattr(module, name, value)
