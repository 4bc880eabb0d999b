"""The experts to which the routers of two models send each token of the same rows.

Shape letters: B rows, T tokens, K experts of a token.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_utils.diagnostics.diagnosis.measures.forward import taken_by
from course_utils.diagnostics.reach.groups import ROUTER, places
from course_utils.diagnostics.reach.reading import base_of


def routers_of(model: nn.Module) -> list[nn.Module]:
    """The modules that choose experts, in their order; none in a dense model."""
    found = places(base_of(model), set())
    own = (one.owner for one in found if one.group == ROUTER and "lora_" not in one.name)
    return list({id(router): router for router in own}.values())


def flips(model: nn.Module, sampler: nn.Module | None, batch: Mapping[str, Tensor]) -> Tensor:
    """Tokens (B, T) that a router sends elsewhere than in the sampler.

    Without a sampler at hand the model itself is asked as engines compute: weights and all that
    is computed from them in bfloat16.
    """
    own = _chosen(model, batch)
    if sampler is not None:
        theirs = _chosen(sampler, batch)
    else:
        with torch.autocast(batch["input_ids"].device.type, dtype=torch.bfloat16):
            theirs = _chosen(model, batch, _rounded(model))
    shape = batch["input_ids"].shape
    pairs = [(a != b).any(-1).view(shape) for a, b in zip(own, theirs, strict=True)]
    return torch.stack(pairs).any(0)


def _rounded(model: nn.Module) -> dict[str, Tensor]:
    """The weights in bfloat16; without those that are whole numbers, or away on other ranks."""
    known = model.named_parameters()
    return {n: p.bfloat16() for n, p in known if p.is_floating_point() and p.numel()}


def _chosen(
    model: nn.Module, batch: Mapping[str, Tensor], weights: Mapping[str, Tensor] | None = None
) -> list[Tensor]:
    """Of each router the chosen experts, sorted, (B * T, K); with other weights, if given."""
    with _recording(model) as seen:
        functional_call(model, dict(weights or {}), kwargs=taken_by(model, batch))
    return [one.reshape(-1, one.size(-1)).sort(-1).values for one in seen]


@contextmanager
def _recording(model: nn.Module) -> Iterator[list[Tensor]]:
    seen: list[Tensor] = []
    most = getattr(base_of(model).config, "num_experts_per_tok", 1)

    def look(_module: nn.Module, _args: tuple, output: Any) -> None:
        parts = output if isinstance(output, tuple) else (output,)
        chosen = next((one for one in parts if not one.is_floating_point()), None)
        seen.append(parts[0].topk(most, -1).indices if chosen is None else chosen)

    hooks = [router.register_forward_hook(look) for router in routers_of(model)]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
