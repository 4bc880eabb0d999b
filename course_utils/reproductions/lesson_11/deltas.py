"""How much the weights of each part change: what an adapter asks for, and what a model has."""

import copy

import torch
from peft import PeftModel
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

    >>> part_of("layers.0.mlp.experts.down_proj"), part_of("layers.0.mlp.up_proj.weight")
    ('experts', 'MLP')
    """
    return next((part for part, word in PARTS.items() if word in name), "norms")


@torch.no_grad()
def asked(model: PeftModel) -> dict[str, Tensor]:
    """The change that an adapter on layers makes of each weight, by the weight's name."""
    layers = model.get_base_model().named_modules()
    return {
        f"{name}.weight": layer.get_delta_weight("default")
        for name, layer in layers
        if hasattr(layer, "get_delta_weight")
    }


@torch.no_grad()
def found(base: nn.Module, served: nn.Module) -> dict[str, Tensor]:
    """What the weights of a served model have more than the base's, by name.

    An adapter that is still on the served model counts with its base. A head counts also where
    it is tied.
    """
    if isinstance(served, PeftModel):
        served = copy.deepcopy(served).merge_and_unload()
    ours, theirs = (dict(m.named_parameters(remove_duplicate=False)) for m in (base, served))
    return {name: theirs[name] - own for name, own in ours.items()}


def by_part(asked: dict[str, Tensor], found: dict[str, Tensor]) -> dict[str, tuple[float, ...]]:
    """For each part: the norms of what is asked and of what is found, and their dot product over
    the square of what is asked, which is 1 where all of it is found and 0 where none is."""
    sums: dict[str, list[float]] = {}
    for name, has in found.items():
        due = asked.get(name, torch.zeros_like(has))
        one = sums.setdefault(part_of(name), [0.0, 0.0, 0.0])
        for at, (a, b) in enumerate(((due, due), (has, has), (due, has))):
            one[at] += (a.double() * b.double()).sum().item()
    return {
        part: (due**0.5, has**0.5, dot / due if due else float("nan"))
        for part, (due, has, dot) in sums.items()
        if due or has
    }
