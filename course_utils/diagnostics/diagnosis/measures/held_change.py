"""How much of an adapter's change is in the weights that are served."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.comparing import (
    adapted,
    adds_to_weight,
    aligned,
    weights_of,
)

BLOCK = 64  # neighbouring weights, that share a scale in formats of 4 bits


@dataclass(frozen=True)
class HeldChange:
    """The `share` of `trained - base` that `served - base` holds, and the rest.

    `share` is 0 for the base itself and 1 for a merged adapter; `rest` is the length of what is no
    multiple of the change, by its length; `levels` counts different values among 64 neighbours.
    """

    share: float
    rest: float
    levels: int
    num_weights: int
    is_base: bool  # equal to the base, to the last digit

    @property
    def said(self) -> str:
        return (
            f"(served - base) holds {self.share:.2f} of (trained - base) over {self.num_weights} "
            "adapted tensors (0: the base, 1: the adapter)"
        )


def held_change(model: nn.Module, served: nn.Module) -> HeldChange | None:
    """Compare the tensors that the model's adapter changes; None without an adapter."""
    base = dict(
        adapted(name, module) for name, module in model.named_modules() if adds_to_weight(module)
    )
    trained, theirs = aligned(weights_of(model), weights_of(served))
    base, _ = aligned(base, theirs)
    names = [n for n in base if n in theirs and n in trained and theirs[n].shape == base[n].shape]
    if not names:
        return None
    along = length = rest = 0.0
    for name in names:
        change, other = (
            w[name].double().cpu() - base[name].double().cpu() for w in (trained, theirs)
        )
        along, length = along + float((change * other).sum()), length + float(change.square().sum())
        rest += float(other.square().sum())
    share = along / length if length else 0.0
    left = max(0.0, rest - share * along)  # |other - share * change|^2, summed
    return HeldChange(
        share=share,
        rest=(left / length) ** 0.5 if length else 0.0,
        levels=_levels(theirs[names[0]]),
        num_weights=len(names),
        is_base=bool(length) and all(torch.equal(base[n], theirs[n]) for n in names),
    )


def _levels(weight: Tensor) -> int:
    return len(weight.detach().flatten()[:BLOCK].unique())
