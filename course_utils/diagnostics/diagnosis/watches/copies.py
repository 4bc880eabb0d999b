"""Compares models of one process that step along the same gradient: are their weights the same?

So it is with workers that average their gradients, here one after the other in one process.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet

TENSORS, SAMPLE = 4, 512  # that are compared of a model, and numbers of each
Pairs = list[tuple[Tensor, Tensor]]  # gradient and weight


@dataclass
class Copies:
    """The first step of the watched model, and those of other models with its gradient."""

    own: Pairs = field(default_factory=list)
    same: int = 0
    apart: int = 0
    largest: float = 0.0

    def watched(self, parameters: Iterable[Tensor]) -> None:
        """Keep the gradients and the weights of the watched model before its first step."""
        self.own = self.own or _sampled(parameters)

    def other(self, parameters: Iterable[Tensor], is_first: bool) -> None:
        """Compare another model before its first step; one with another gradient is no copy."""
        theirs = _sampled(parameters) if is_first and self.own else []
        if not theirs or [g.shape for g, _ in theirs] != [g.shape for g, _ in self.own]:
            return
        pairs = list(zip(self.own, theirs, strict=True))
        if not all(torch.equal(a, b) for (a, _), (b, _) in pairs):
            return
        gap = max(float((a - b).abs().max()) for (_, a), (_, b) in pairs)
        self.same, self.apart = self.same + (gap == 0), self.apart + (gap > 0)
        self.largest = max(self.largest, gap)

    def judge(self, sheet: Sheet) -> None:
        if not self.same + self.apart:
            return
        whole = self.same + self.apart
        if not self.apart:
            sheet.clear("weights of the workers", f"{whole} other models begin with the same")
            return
        sheet.find(
            "workers_begin_apart",
            COUNTED,
            f"{self.apart} of {whole} other models take their first step along the same gradient, "
            f"and their weights differ by up to {self.largest:.2g}",
            place="the models of the workers, before the first step",
        )


def _sampled(parameters: Iterable[Tensor]) -> Pairs:
    """Gradients and weights at even distances, of matrices: other tensors often begin alike."""
    known = [p for p in parameters if p.grad is not None and p.dim() > 1][:TENSORS]
    kept = [(_some(p.grad), _some(p)) for p in known]
    return kept if any(bool(grad.any()) for grad, _ in kept) else []


def _some(tensor: Tensor) -> Tensor:
    flat = tensor.detach().flatten()
    return flat[:: max(1, len(flat) // SAMPLE)].cpu().clone()
