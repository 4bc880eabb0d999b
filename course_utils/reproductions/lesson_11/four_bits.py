"""Merges of an adapter whose base stands on a 4-bit grid. W16 is the base before the grid."""

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from course_utils.reproductions.lesson_11.adapter_life import base_model
from course_utils.reproductions.lesson_11.grid import BLOCK, LEVELS, onto_grid

Weights = tuple[str, Tensor, Tensor, Tensor]  # name; original, on the grid, the adapter's change


def weights_of(model: nn.Module) -> Iterator[Weights]:
    """Each adapted weight of a model that was trained on a 4-bit base."""
    original = dict(base_model().named_parameters())
    for name, layer in model.get_base_model().named_modules():
        if hasattr(layer, "get_delta_weight"):
            plain = f"{name}.weight"
            yield plain, original[plain].detach(), layer.base_layer.weight.detach(), _delta(layer)


def _delta(layer: nn.Module) -> Tensor:
    return layer.get_delta_weight("default").detach()


@torch.no_grad()
def served(model: nn.Module, merge: Callable[[Tensor, Tensor, Tensor], Tensor]) -> nn.Module:
    """A plain model whose adapted weights are what `merge` makes of the three tensors."""
    plain = copy.deepcopy(base_model("4-bit")).eval()
    weights = dict(plain.named_parameters())
    for name, w16, w4, delta in weights_of(model):
        weights[name].copy_(merge(w16.clone(), w4.clone(), delta.clone()))
    return plain


def four_merges(model: nn.Module) -> dict[str, nn.Module]:
    """The four merges that people argue about, each as a model."""
    ways = {
        "W4 + delta": lambda w16, w4, delta: w4 + delta,
        "W4 + delta, onto the grid": lambda w16, w4, delta: onto_grid(w4 + delta),
        "W16 + delta": lambda w16, w4, delta: w16 + delta,
        "W16 + delta, onto the grid": lambda w16, w4, delta: onto_grid(w16 + delta),
    }
    return {name: served(model, merge) for name, merge in ways.items()}


def of_half_a_step(model: nn.Module) -> dict[str, float]:
    """The shares of weights whose change is below half a step, and whose grid value changes."""
    below = moved = total = 0
    for _, _, w4, delta in weights_of(model):
        blocks = w4.reshape(-1, BLOCK)
        half = (blocks.abs().amax(1, keepdim=True) / LEVELS / 2).expand_as(blocks)
        below += int((delta.reshape(-1, BLOCK).abs() < half).sum())
        moved += int(((onto_grid(w4 + delta) - w4).abs().reshape(-1, BLOCK) > half).sum())
        total += delta.numel()
    return {"below half a step": round(below / total, 4), "moved": round(moved / total, 4)}
