"""Weights on a 4-bit grid: 15 levels per block of 64, equal steps. Real formats differ in detail.

bitsandbytes' nf4 has 16 unequal levels; the steps here are equal, and scales are not rounded.
"""

import torch
from torch import Tensor, nn

BLOCK, LEVELS = 64, 7  # weights that share a scale; steps from 0 to the largest of them


def onto_grid(weight: Tensor) -> Tensor:
    """Each weight rounded to one of 15 multiples of its block's scale, as 4-bit formats do."""
    blocks = weight.reshape(-1, BLOCK)
    scale = blocks.abs().amax(1, keepdim=True) / LEVELS
    return ((blocks / scale).round() * scale).reshape(weight.shape)


def by_chance(weight: Tensor, seed: int = 0) -> Tensor:
    """Each weight on one of the two levels beside it; the nearer one is the likelier.

    On average nothing is lost, however small a change is.
    """
    draw = torch.Generator().manual_seed(seed)
    blocks = weight.reshape(-1, BLOCK)
    scale = blocks.abs().amax(1, keepdim=True) / LEVELS
    steps = (blocks / scale + torch.rand(blocks.shape, generator=draw)).floor()
    return (steps.clamp(-LEVELS, LEVELS) * scale).reshape(weight.shape)


@torch.no_grad()
def put_onto_grid(model: nn.Module) -> nn.Module:
    """Round the linear layers of a model's blocks; embedding and head stay as they are."""
    for module in model.model.layers.modules():
        if isinstance(module, nn.Linear):
            module.weight.copy_(onto_grid(module.weight))
    return model
