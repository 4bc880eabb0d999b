"""Logits of given replies under a model, each row by itself: no padding on the left, no cache.

Shape letters: B = replies, L = prompt and reply, N = tokens of all replies, V = vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

Ids = list[list[int]]


@dataclass(frozen=True)
class Tokens:
    """The tokens of all replies, one after the other, with a model's logits for each."""

    logits_NV: Tensor
    ids_N: Tensor
    seen_NV: Tensor  # whether a token stands in the prompt or in the reply so far
    rows_N: Tensor  # the reply it belongs to


@torch.no_grad()
def logits_of(model: nn.Module, prompts: Ids, replies: Ids) -> Tensor:
    """The logits that `model` has for each token of each reply, (N, V), in float32."""
    rows = [torch.tensor([*p, *r]) for p, r in zip(prompts, replies, strict=True)]
    device = next(model.parameters()).device
    ids_BL = pad_sequence(rows, batch_first=True).to(device)
    mask_BL = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(device)
    logits_BLV = model(input_ids=ids_BL, attention_mask=mask_BL).logits.float()
    picked = [
        logits_LV[len(p) - 1 : len(p) + len(r) - 1]
        for logits_LV, p, r in zip(logits_BLV, prompts, replies, strict=True)
    ]
    return torch.cat(picked).cpu()


def tokens_of(model: nn.Module, prompts: Ids, replies: Ids) -> Tokens:
    """Everything about the tokens that does not depend on a sampler's settings."""
    logits_NV = logits_of(model, prompts, replies)
    seen_NV = torch.zeros_like(logits_NV, dtype=torch.bool)
    rows = []
    for row, (prompt, reply) in enumerate(zip(prompts, replies, strict=True)):
        for place in range(len(reply)):
            seen_NV[len(rows), prompt + reply[:place]] = True
            rows.append(row)
    ids_N = torch.tensor([token for reply in replies for token in reply])
    return Tokens(logits_NV, ids_N, seen_NV, torch.tensor(rows))
