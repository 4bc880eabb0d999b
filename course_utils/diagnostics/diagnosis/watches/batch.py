"""Keeps the first batch that a model trains on, in case the user gave none."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.nonfinite.batches import keep

NAMES = ("input_ids", "attention_mask", "position_ids", "labels")


@dataclass
class FirstBatch:
    """The arguments of the model's first forward pass with a graph."""

    subject: Subject
    batch: dict[str, Tensor] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        if self.subject.batch is not None:
            yield
            return
        handle = self.subject.model.register_forward_pre_hook(Hook(self._hear), with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def _hear(self, _module: Any, _args: tuple, kwargs: Mapping) -> None:
        if self.batch is None and torch.is_grad_enabled():
            found = {n: kwargs[n] for n in NAMES if isinstance(kwargs.get(n), Tensor)}
            if "input_ids" in found and found["input_ids"].dim() == 2:
                self.batch = keep(found)
