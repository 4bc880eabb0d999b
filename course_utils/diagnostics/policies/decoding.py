"""The steps between logits and a sampled token: penalty, temperature, support.

Pure functions on tensors. Shape letters: N = tokens of all replies, V = vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Decoding:
    """Settings of a sampler, with the defaults that change nothing."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __str__(self) -> str:
        changed = [
            f"{name} {value:.3g}"
            for name, value in vars(self).items()
            if value != getattr(Decoding, name)
        ]
        return ", ".join(changed) or "temperature 1, all tokens"


def penalised(logits_NV: Tensor, seen_NV: Tensor, penalty: float) -> Tensor:
    """Logits with the tokens of prompt and reply divided by the penalty, or multiplied.

    Source: Keskar et al. (2019), CTRL, as in transformers' RepetitionPenaltyLogitsProcessor.
    """
    if penalty == 1.0:
        return logits_NV
    less_NV = torch.where(logits_NV < 0, logits_NV * penalty, logits_NV / penalty)
    return torch.where(seen_NV, less_NV, logits_NV)


def in_support(logits_NV: Tensor, decoding: Decoding) -> Tensor:
    """The tokens left by top_k, then top_p, then min_p, in the order of transformers and vLLM.

    The logits are those after temperature. At least one token is left.
    """
    kept_NV = torch.ones_like(logits_NV, dtype=torch.bool)
    if decoding.top_k:
        least_N1 = logits_NV.topk(min(decoding.top_k, logits_NV.shape[-1])).values[..., -1:]
        kept_NV = logits_NV >= least_N1
    if decoding.top_p < 1:
        within_NV = logits_NV.masked_fill(~kept_NV, -torch.inf)
        sorted_NV, order_NV = within_NV.sort(-1, descending=True)
        probs_NV = sorted_NV.softmax(-1)
        before_NV = probs_NV.cumsum(-1) - probs_NV  # mass of the likelier tokens
        kept_NV = kept_NV & torch.empty_like(kept_NV).scatter(
            -1, order_NV, before_NV < decoding.top_p
        )
    if decoding.min_p > 0:
        probs_NV = logits_NV.softmax(-1)
        kept_NV = kept_NV & (probs_NV >= decoding.min_p * probs_NV.amax(-1, keepdim=True))
    return kept_NV


def warp(logits_NV: Tensor, seen_NV: Tensor, decoding: Decoding) -> Tensor:
    """The logits that a sampler with these settings draws from; -inf outside its support.

    Args:
        logits_NV: of the model, in any float format; the result is float32.
        seen_NV: whether a token is in the prompt or in the reply so far.

    >>> warp(torch.tensor([[2.0, 1.0]]), torch.zeros(1, 2).bool(), Decoding(top_k=1))
    tensor([[2., -inf]])
    """
    logits_NV = penalised(logits_NV.float(), seen_NV, decoding.repetition_penalty)
    logits_NV = logits_NV / decoding.temperature
    if not (decoding.top_k or decoding.top_p < 1 or decoding.min_p):
        return logits_NV
    return logits_NV.masked_fill(~in_support(logits_NV, decoding), -torch.inf)


def logps_of(logits_NV: Tensor, ids_N: Tensor) -> Tensor:
    """Log-probabilities of the tokens `ids_N` under these logits, in nats, (N,)."""
    return logits_NV.log_softmax(-1).gather(-1, ids_N[..., None])[..., 0]
