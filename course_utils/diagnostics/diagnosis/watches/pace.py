"""Counts forward passes and schedule steps per optimizer step, and notes where a run began."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.hooks import Hook


@dataclass
class Pace:
    """Counts per optimizer step: forward passes with a graph, and schedule steps."""

    subject: Subject
    steps: Steps
    passes: int = 0
    ticks: int = 0  # of schedules of the optimizer that holds the model, after its first step
    schedules: dict[int, LRScheduler] = field(default_factory=dict)  # those that were stepped
    strange: int = 0  # ticks of schedules whose optimizer steps none of the model's weights
    began_at: int | None = None  # the Trainer's count of steps at the first pass: a resumed run's

    @contextmanager
    def listening(self) -> Iterator[None]:
        """In the block, both are counted; schedules are wrapped where torch defines their step."""
        plain = LRScheduler.step

        @wraps(plain)
        def counted(schedule: LRScheduler, *args: Any, **kwargs: Any) -> Any:
            self._tick(schedule)
            return plain(schedule, *args, **kwargs)

        handle = self.subject.model.register_forward_pre_hook(Hook(self._pass))
        LRScheduler.step = counted
        try:
            yield
        finally:
            LRScheduler.step = plain
            handle.remove()

    def _pass(self, _module: torch.nn.Module, _args: tuple) -> None:
        if not torch.is_grad_enabled():
            return
        if self.began_at is None:
            state = getattr(self.subject.trainer, "state", None)
            self.began_at = getattr(state, "global_step", 0)
        self.passes += 1

    def _tick(self, schedule: LRScheduler) -> None:
        if not self.steps.num_steps:
            return  # a schedule steps once when it is made
        optimizer = getattr(schedule, "optimizer", None)
        self.strange += id(getattr(optimizer, "optimizer", optimizer)) not in self.steps.own
        groups = getattr(optimizer, "param_groups", ())
        own = {id(p) for p in self.subject.model.parameters()}
        if any(id(p) in own for group in groups for p in group["params"]):
            self.ticks += 1
            self.schedules[id(schedule)] = schedule

    @property
    def ticks_a_step(self) -> float:
        """Schedule steps per optimizer step; 0 if no schedule was seen."""
        return self.ticks / self.steps.num_steps if self.steps.num_steps else 0.0

    @property
    def passes_a_step(self) -> float:
        return self.passes / self.steps.num_steps if self.steps.num_steps else 0.0
