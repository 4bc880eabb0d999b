"""One forward pass that leaves the model in the mode it was in.

Shape letters: B rows, T tokens, V vocabulary or scores.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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


def outputs_of(model: nn.Module, batch: Mapping) -> Tensor:
    """The logits of a batch, (B, T, V) for tokens or (B, V) for scores, in float32."""
    device = next(model.parameters()).device
    taken = {k: batch[k].to(device) for k in TAKEN if isinstance(batch.get(k), Tensor)}
    output = model(**taken)
    return (output.logits if hasattr(output, "logits") else output[0]).float()
