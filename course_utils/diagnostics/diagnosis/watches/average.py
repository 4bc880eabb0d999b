"""Watches for an average of the weights beside the model: one that leaves the batch norms out."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from course_utils.causes.harms import SERVING
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.pytorch import batch_norms

NEAR = 0.9  # cosine of an average with the weights that it is of


@dataclass
class Average:
    """The first weights of a model with batch norms, and another model whose weights have moved."""

    subject: Subject
    _start: Tensor | None = field(default=None)

    @contextmanager
    def beginning(self) -> Iterator[None]:
        if _counted(self.subject.model):
            self._start = _vector(self.subject.model)
        yield

    def judge(self, sheet: Sheet) -> None:
        """Name an average whose batch norms have counted no batch, though its weights moved."""
        model, start = self.subject.model, self._start
        if start is None or not max(_counted(model)):
            return
        now = _vector(model)
        for other in _others(model):
            theirs = _vector(other)
            moved = theirs.shape == start.shape and not torch.equal(theirs, start)
            if moved and not max(_counted(other)) and _alike(theirs, now):
                sheet.find(
                    "average_without_buffers",
                    MEASURED,
                    f"another {type(other).__name__} follows the weights of the model, and its "
                    f"batch norms have counted 0 batches; the model's have {max(_counted(model))}",
                    place="the average of the weights (EMA, SWA)",
                    where=SERVING,
                )
                return


def _others(model: nn.Module) -> Iterator[nn.Module]:
    """Models of the same class, which nothing trains."""
    for one in gc.get_objects():
        is_like = type(one) is type(model) and one is not model and _counted(one)
        if is_like and all(p.grad is None for p in one.parameters()):
            yield one


def _counted(model: nn.Module) -> list[int]:
    """How many batches each batch norm has averaged over; none of those that do not count."""
    norms = (m for m in model.modules() if isinstance(m, batch_norms()))
    counts = (getattr(m, "num_batches_tracked", None) for m in norms)
    return [int(count) for count in counts if count is not None]


def _vector(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten().float().cpu() for p in model.parameters()])


def _alike(one: Tensor, other: Tensor) -> bool:
    return float(torch.cosine_similarity(one, other, dim=0)) > NEAR
