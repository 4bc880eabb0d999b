"""How much the weights of each part change: what an adapter asks for, and what a model has."""

import torch
from torch import Tensor, nn

PARTS = {
    "embedding": "embed_tokens",
    "head": "lm_head",
    "experts": ".experts.",
    "shared expert": "shared_expert",
    "router": "mlp.gate.",
    "MLP": ".mlp.",
    "attention": "self_attn",
}


def part_of(name: str) -> str:
    """The part of a tiny model that a tensor belongs to.

    >>> part_of("model.layers.0.mlp.experts.down_proj"), part_of("model.layers.0.mlp.up_proj.weight")
    ('experts', 'MLP')
    """
    return next((part for part, word in PARTS.items() if word in name), "norms")


@torch.no_grad()
def asked(model: nn.Module) -> dict[str, Tensor]:
    """The change that an adapter makes of each weight, by the weight's name."""
    return {
        f"{name}.{getattr(layer, 'parameter_name', None) or 'weight'}": layer.get_delta_weight(
            "default"
        )
        for name, layer in model.get_base_model().named_modules()
        if hasattr(layer, "get_delta_weight")
    }


@torch.no_grad()
def found(base: nn.Module, served: nn.Module) -> dict[str, Tensor]:
    """The difference of two plain models' weights, by name; the head's also where it is tied."""
    ours, theirs = (dict(m.named_parameters(remove_duplicate=False)) for m in (base, served))
    return {name: theirs[name] - own for name, own in ours.items()}


def by_part(changes: dict[str, Tensor]) -> dict[str, float]:
    """The norm of the changes of each part."""
    squares: dict[str, float] = {}
    for name, change in changes.items():
        part = part_of(name)
        squares[part] = squares.get(part, 0.0) + change.double().square().sum().item()
    return {part: total**0.5 for part, total in squares.items()}
