"""Counts what each optimizer step does: which weights have a gradient, and how far they move.

Hooks of torch tell of the steps, whoever takes them; a sample of each tensor is compared before
and after. Memory is bounded: a sample of the weights, and a few numbers per step.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import optimizer as optimizers

from course_utils.diagnostics.diagnosis.measures.sampled_weights import (
    has_a_size,
    relative,
    sample,
    share_asked,
    undone,
)
from course_utils.diagnostics.diagnosis.measures.weight_groups import GROUPS
from course_utils.diagnostics.diagnosis.watches.copies import Copies
from course_utils.diagnostics.libraries.pytorch import hearing_clips

MAX_STEPS = 5000  # of which numbers are kept; later ones replace the earliest


@dataclass(frozen=True)
class StepNumbers:
    """One optimizer step on the watched model."""

    step: int  # counted from 1
    lr: float  # nan where the optimizer sets its own
    grad_norm: float
    num_without_grad: int  # trainable tensors whose gradient is None
    num_zero_grad: int  # those whose gradient is exactly 0
    num_trainable: int
    share_moved: float  # of the sampled weights, those with another value than before
    largest_update: float  # of a tensor: rms of its update by rms of its weights
    norm: float | None = None  # that clipping found, where somebody clipped
    clipped_to: float | None = None  # its limit
    share_asked: float = 1.0  # of the sampled weights, those whose gradient is not 0


@dataclass
class Steps:
    """All steps of a run."""

    model: nn.Module
    numbers: list[StepNumbers] = field(default_factory=list)
    without_grad: Counter[str] = field(default_factory=Counter)  # name -> steps without one
    unheld: Counter[str] = field(default_factory=Counter)  # name -> gradients none stepped with
    ever_held: set[str] = field(default_factory=set)  # names of weights that an optimizer holds
    moved: Counter[str] = field(default_factory=Counter)  # name -> steps in which it moved
    changed: Counter[str] = field(default_factory=Counter)  # name -> sampled numbers that changed
    compared: Counter[str] = field(default_factory=Counter)  # name -> sampled numbers
    strangers: Counter[str] = field(default_factory=Counter)  # optimizers that hold none of it
    frozen: Counter[str] = field(default_factory=Counter)  # of those, that hold its frozen ones
    own: set[int] = field(default_factory=set)  # ids of optimizers that step the model's weights
    empty: set[str] = field(default_factory=set)  # of those, that hold no tensor at all
    copies: Copies = field(default_factory=Copies)
    failures: list[Exception] = field(default_factory=list)
    largest_at: str = ""  # the tensor of the largest update
    rateless: Counter[str] = field(default_factory=Counter)  # name -> steps, rate 0
    counts: list[int] = field(default_factory=list)  # of steps, as the optimizer itself has it
    held_state: tuple[int, int] = (0, 0)  # tensors with optimizer state before and after step 1
    between: list[int] = field(default_factory=list)  # steps behind which other hands wrote weights
    taken_back: list[float] = field(default_factory=list)  # of the way since the time before, there
    _sized: set[str] = field(default_factory=set)  # matrices that did not begin at 0
    _before: dict[str, Tensor] = field(default_factory=dict)
    _after: dict[str, Tensor] = field(default_factory=dict)  # of the last step
    _origin: dict[str, Tensor] = field(default_factory=dict)  # at the start, or as last written
    _pending: dict[str, Any] = field(default_factory=dict)
    _stepping: int = 0  # the id of the optimizer whose step is under way
    _clip: tuple[float, Tensor] | None = None  # the last since the step before

    @property
    def num_steps(self) -> int:
        return self.numbers[-1].step if self.numbers else 0

    def moved_by_group(self) -> list[str]:
        """The share of each group's weights that a step with a rate moves."""
        groups: dict[str, list[int]] = {}
        for name, compared in self.compared.items():
            of = groups.setdefault(group_of(name), [0, 0])
            of[0], of[1] = of[0] + self.changed[name], of[1] + compared
        return [f"{name} {changed / whole:.0%}" for name, (changed, whole) in groups.items()]

    def gone_back(self) -> float:
        """The share of the way from the start to the last step that was undone since."""
        weights = dict(self.model.named_parameters())
        if not self._after.keys() <= weights.keys() or self._origin.keys() != self._after.keys():
            return 0.0
        now = {name: sample(weights[name]) for name in self._after}
        return undone(self._origin, self._after, now)

    def rates(self) -> list[float]:
        return [one.lr for one in self.numbers]

    @contextmanager
    def counting(self) -> Iterator["Steps"]:
        """In the block, every optimizer step is counted. Errors in here never reach the run."""
        handles = (
            optimizers.register_optimizer_step_pre_hook(self._safely(self._look_before)),
            optimizers.register_optimizer_step_post_hook(self._safely(self._look_after)),
        )
        try:
            with hearing_clips(self._hear_clip):
                yield self
        finally:
            for handle in handles:
                handle.remove()

    def _hear_clip(self, limit: float, norm: Tensor) -> None:
        if type(norm) is Tensor:  # a norm over several processes is not asked for
            self._clip = limit, norm

    def _safely(self, look):
        def hook(optimizer, *_args) -> None:
            try:
                with torch.no_grad():
                    look(optimizer)
            except Exception as error:
                self.failures.append(error)

        return hook

    def _held(self, optimizer: Any) -> dict[str, Tensor]:
        own, named = _ids_in(optimizer), self.model.named_parameters()
        return {name: p for name, p in named if p.requires_grad and id(p) in own}

    def _look_before(self, optimizer: Any) -> None:
        held, own = self._held(optimizer), _in(optimizer)
        if not held:
            name = type(optimizer).__name__
            self.copies.other(own, is_first=self.num_steps == 1)
            self.strangers[name] += 1
            self.empty |= set() if own else {name}
            self.frozen[name] += bool(_ids_in(optimizer) & {id(p) for p in self.model.parameters()})
            return
        self.own.add(id(optimizer))
        if self._is_part_of_a_step(optimizer, held):
            return
        self._stepping = id(optimizer)
        self.copies.watched(own)
        trainable = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        without = [name for name, p in trainable.items() if p.grad is None]
        self.without_grad.update(without)
        self.ever_held |= held.keys()
        self.unheld.update(n for n, p in trainable.items() if p.grad is not None and n not in held)
        grads = [p.grad for p in trainable.values() if p.grad is not None]
        norms = (
            [float(n) for n in torch.stack([g.detach().float().norm() for g in grads])]
            if grads
            else []
        )
        self._before = {name: sample(p) for name, p in held.items()}
        self._note_between()
        if not self.numbers:
            self.held_state = (_with_state(optimizer, held), 0)
            self._sized = {n for n, p in held.items() if has_a_size(p)}
        self._pending = {
            "lr": max(_rate(group) for group in optimizer.param_groups),
            "grad_norm": math.hypot(*norms),
            "share_asked": share_asked(held.values()),
            "num_without_grad": len(without),
            "num_zero_grad": sum(norm == 0 for norm in norms),
            "num_trainable": len(trainable),
        }
        self._note_rateless(optimizer, held)
        if self._clip is not None:
            limit, norm = self._clip
            self._pending |= {"clipped_to": float(limit), "norm": float(norm)}
            self._clip = None

    def _is_part_of_a_step(self, optimizer: Any, held: dict[str, Tensor]) -> bool:
        """Whether the step of another optimizer that holds these tensors, too, is under way."""
        is_other = bool(self._pending) and self._stepping != id(optimizer)
        return is_other and held.keys() <= self._before.keys()

    def _note_between(self) -> None:
        """Write down a step behind which most tensors became others before the next one."""
        if self._after.keys() != self._before.keys():
            self._origin = self._before
            return
        others = sum(not torch.equal(self._after[name], now) for name, now in self._before.items())
        if others > len(self._after) / 2:
            self.between.append(self.num_steps)
            self.taken_back.append(undone(self._origin, self._after, self._before))
            self._origin = self._before
            del self.between[:-MAX_STEPS], self.taken_back[:-MAX_STEPS]

    def _note_rateless(self, optimizer: Any, held: dict[str, Tensor]) -> None:
        """Count the tensors of groups whose rate is 0 while that of another group is not."""
        if not self._pending["lr"]:
            return
        own = {id(p) for g in optimizer.param_groups if _rate(g) == 0 for p in g["params"]}
        self.rateless.update(name for name, p in held.items() if id(p) in own)

    def _look_after(self, optimizer: Any) -> None:
        if not self._pending:
            return
        held = self._held(optimizer)
        self._note_count(optimizer, held)
        if self._stepping != id(optimizer):
            return
        moved = total = 0
        largest = 0.0
        self._after = {name: sample(held[name]) for name in self._before}
        for name, before in self._before.items():
            now = self._after[name]
            changed = int((now != before).sum())
            self.moved[name] += changed > 0
            if self._pending["lr"] != 0:
                self.changed[name] += changed
                self.compared[name] += now.numel()
            moved, total = moved + changed, total + now.numel()
            update = relative(before, now) if name in self._sized else 0.0
            if update > largest:
                largest, self.largest_at = update, name
        share = moved / total if total else 0.0
        step = self.num_steps + 1
        if not self.numbers:
            self.held_state = (self.held_state[0], _with_state(optimizer, held))
        self.numbers.append(
            StepNumbers(step=step, share_moved=share, largest_update=largest, **self._pending)
        )
        del self.numbers[:-MAX_STEPS]
        self._pending = {}

    def _note_count(self, optimizer: Any, held: dict[str, Tensor]) -> None:
        known = (optimizer.state.get(p, {}).get("step") for p in held.values())
        if (count := next((one for one in known if one is not None), None)) is not None:
            self.counts.append(int(count))
            del self.counts[:-MAX_STEPS]


def group_of(name: str) -> str:
    """The part of a model that a weight belongs to.

    >>> group_of("model.layers.0.self_attn.q_proj.weight"), group_of("lm_head.weight")
    ('attention', 'head')
    """
    return next((group for group, words in GROUPS.items() if words.search(name)), "other")


def _in(optimizer: Any) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _ids_in(optimizer: Any) -> set[int]:
    return {id(p) for p in _in(optimizer)}


def _with_state(optimizer: Any, held: dict[str, Tensor]) -> int:
    """How many of these tensors have state in the optimizer."""
    return sum(bool(optimizer.state.get(p)) for p in held.values())


def _rate(group: dict[str, Any]) -> float:
    return math.nan if group["lr"] is None else float(group["lr"])
