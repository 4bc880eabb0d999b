"""One forward pass that leaves the model in the mode it was in.

Shape letters: B rows, T tokens, V vocabulary or scores.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

TAKEN = ("input_ids", "attention_mask", "position_ids", "token_type_ids")


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """In the block: no dropout, no graph; afterwards every module is in its old mode."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def has_ids(batch: Any) -> bool:
    """Whether a batch holds token ids of shape (B, T)."""
    ids = batch.get("input_ids") if isinstance(batch, Mapping) else None
    return isinstance(ids, Tensor) and ids.dim() == 2 and ids.numel() > 0


def taken_by(model: nn.Module, batch: Mapping) -> dict[str, Tensor]:
    """What a model of texts takes of a batch, on its device."""
    device = next(model.parameters()).device
    return {k: batch[k].to(device) for k in TAKEN if isinstance(batch.get(k), Tensor)}


def outputs_of(model: nn.Module, batch: Mapping) -> Tensor:
    """The logits of a batch, (B, T, V) for tokens or (B, V) for scores, in float32.

    Logits of a soft prompt, which stands before the tokens, are left out.
    """
    taken = taken_by(model, batch)
    output = model(**taken)
    logits = logits_in(output)
    logits = (output.last_hidden_state if logits is None else logits).float()  # a bare body
    return logits[:, -taken["input_ids"].shape[1] :] if logits.dim() == 3 else logits


def logits_in(output: Any) -> Any:
    """The logits of what a model returned: an attribute, a key, the first of several, or all."""
    if isinstance(output, Mapping):
        return output.get("logits")
    return getattr(output, "logits", output if isinstance(output, Tensor) else output[0])


@contextmanager
def formats_of(model: nn.Module) -> Iterator[set[torch.dtype]]:
    """Collects the formats in which the linear layers compute, autocast included."""
    seen: set[torch.dtype] = set()

    def look(_module: nn.Module, _args: tuple, output: Any) -> None:
        if isinstance(output, Tensor):
            seen.add(output.dtype)

    layers = (module for module in model.modules() if isinstance(module, nn.Linear))
    handles = [layer.register_forward_hook(look) for layer in layers]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
