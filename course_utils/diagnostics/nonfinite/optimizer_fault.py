"""Why finite gradients became non-finite weights, read from the optimizer's own numbers.

Reads weights, state and settings after the step; it neither steps nor changes anything.
"""

from collections.abc import Container
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.diagnostics.nonfinite.events import Event
from course_utils.diagnostics.nonfinite.places import Places
from course_utils.diagnostics.nonfinite.values import all_finite, is_readable, look, plain


@dataclass(frozen=True)
class TakenStep:
    """One optimizer step: the weights it changed, and its inputs."""

    optimizer: torch.optim.Optimizer
    names: list[str]
    weights: list[Tensor]
    gradient_norms: list[float]  # L2, one for each weight
    places: Places  # where the step was called

    @property
    def learning_rate(self) -> float | None:
        rate = self.optimizer.param_groups[0].get("lr")
        return float(rate) if isinstance(rate, int | float) else None

    def find_fault(self, besides: Container[Tensor] = ()) -> Event | None:
        """The first weight that is not finite now, as an event of the phase "optimizer".

        Those in `besides` were so before the run, and are nobody's fault here.
        """
        for name, weight, norm in zip(self.names, self.weights, self.gradient_norms, strict=True):
            if weight not in besides and not all_finite(weight):
                return self._explain(name, weight, norm)
        return None

    def _explain(self, name: str, weight: Tensor, gradient_norm: float) -> Event:
        values = look(weight)
        bad = ~plain(weight).isfinite()
        group = next(
            g for g in self.optimizer.param_groups if any(p is weight for p in g["params"])
        )
        causes = [*_vanished(group, weight.dtype), *_state_causes(self._state(weight), bad)]
        kind = type(self.optimizer).__name__
        sentence = (
            f"{kind} made {int(bad.sum())} of {bad.numel()} values of this weight non-finite, "
            f"from a gradient of norm {gradient_norm:.3g}"
        )
        return Event(
            index=0,
            operation=f"{kind}.step",
            phase="optimizer",
            module=name,
            node="",
            dtype=weight.dtype,
            out=values,
            largest_input=gradient_norm,
            only_neg_inf=False,
            is_fresh=True,
            is_written=False,
            places=self.places,
            sentence="; ".join([sentence, *causes]),
        )

    def _state(self, weight: Tensor) -> dict[str, Tensor]:
        state = self.optimizer.state.get(weight, {})
        return {
            name: value
            for name, value in state.items()
            if isinstance(value, Tensor) and is_readable(value) and value.shape == weight.shape
        }


def _vanished(group: dict, dtype: torch.dtype) -> list[str]:
    """The settings that protect a division and round to 0 in the weight's format."""
    tiny = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    short = str(dtype).removeprefix("torch.")
    return [
        f"{name} {value:g} rounds to 0 in {short}, whose smallest number is {tiny:.2g}"
        for name, value in group.items()
        if "eps" in name and value and float(torch.tensor(value, dtype=dtype)) == 0
    ]


def _state_causes(state: dict[str, Tensor], bad: Tensor) -> list[str]:
    """The content of the optimizer's state where the weight is not finite."""
    causes = []
    for name, tensor in state.items():
        held = plain(tensor)[bad]
        num_zero, num_bad = int((held == 0).sum()), int((~held.isfinite()).sum())
        if num_bad:
            causes.append(f"{name} is itself not finite in {num_bad} of them")
        elif num_zero:
            causes.append(f"{name} is 0 in {num_zero} of them")
        else:
            causes.append(f"{name} is at most {float(held.abs().max()):.3g} there")
    return causes
