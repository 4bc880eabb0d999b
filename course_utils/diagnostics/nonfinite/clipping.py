"""The gradient norms that clipping measured, as tensors: the size of gradients before it.

Changes nothing and waits for nothing. Every clip_grad_norm_ of torch, also Accelerate's, ends in
one private function; where it is missing nothing is seen.
"""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from course_utils.diagnostics.libraries.pytorch import hearing_clips, why_no_clips
from course_utils.diagnostics.libraries.trainer import norm_by_clipping
from course_utils.diagnostics.nonfinite.case import Cause


@dataclass
class Clipping:
    """The calls since the last optimizer step: (max_norm, total norm found)."""

    calls: deque[tuple[float, Tensor]] = field(default_factory=lambda: deque(maxlen=16))

    @contextmanager
    def listening(self) -> Iterator[None]:
        with hearing_clips(lambda *call: self.calls.append(call)):
            yield

    def norms(self, device: torch.device) -> Tensor:
        """The total norms found, float32, shape (number of calls,)."""
        norms = [torch.as_tensor(norm).detach().float().reshape(1) for _, norm in self.calls]
        return torch.cat([norm.to(device) for norm in norms] or [torch.empty(0, device=device)])

    def why_bad(self) -> Cause:
        """Why gradients that backward() left finite no longer are; waits for the device."""
        fix = "look at what runs between backward() and step(): hooks on the parameters, clipping"
        unseen = f"; {why}" if (why := why_no_clips()) else ""
        unknown = Cause(
            "gradients changed after backward",
            "backward() gives finite gradients, and something after it made them non-finite"
            f"{unseen}",
            f"{fix}, code that writes to .grad",
        )
        overflowed = [(m, float(n)) for m, n in self.calls if not math.isfinite(float(n))]
        if not overflowed:
            return unknown
        max_norm, norm = overflowed[0]
        what = (
            f"backward() gives finite gradients; their total norm overflowed to {norm}, and "
            f"clip_grad_norm_ with max_norm={max_norm:g} multiplied them by "
            f"{max_norm:g} / {norm:g}"
        )
        if math.isinf(max_norm):
            return Cause(
                "max_grad_norm=0",
                f"{what} = nan; {_who()}",
                "set max_grad_norm=1.0, and find out why the gradients are so large: too high a "
                "learning rate, or a loss that is a sum",
            )
        return Cause("clipping by an infinite norm", what, "lower the learning rate or the loss")


def _who() -> str:
    """Who clips to an infinite norm."""
    trainer = norm_by_clipping()
    if trainer:
        return f"{trainer} calls it so to log the norm when max_grad_norm=0"
    return "somebody calls it so to measure the norm"
