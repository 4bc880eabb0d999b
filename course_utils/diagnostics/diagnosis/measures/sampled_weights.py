"""Compares a sample of each weight tensor, before and after a step."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

SAMPLE = 2048  # numbers of one tensor that are compared


def sample(weight: Tensor) -> Tensor:
    """A copy of numbers at even distances."""
    flat = weight.detach().flatten()
    return flat[:: max(1, len(flat) // SAMPLE)].clone()


def share_asked(weights: Iterable[Tensor]) -> float:
    """The share of the sampled numbers whose gradient is not 0; a sparse one is not looked into."""
    asked = total = 0
    for weight in weights:
        grad, size = weight.grad, len(sample(weight))
        is_dense = grad is not None and grad.layout == torch.strided
        asked += int(sample(grad).count_nonzero()) if is_dense else size * (grad is not None)
        total += size
    return asked / total if total else 0.0


def undone(start: dict[str, Tensor], end: dict[str, Tensor], now: dict[str, Tensor]) -> float:
    """The share of the way from start to end that was gone back since; 0 where nothing moved."""
    pairs = [(end[n].float() - start[n].float(), now[n].float() - end[n].float()) for n in start]
    length = sum(float(way.square().sum()) for way, _ in pairs)
    return -sum(float((way * back).sum()) for way, back in pairs) / length if length else 0.0


def has_a_size(weight: Tensor) -> bool:
    """Whether an update can be large for this tensor: biases and others that begin at 0 grow."""
    return weight.dim() > 1 and weight.numel() >= 16 and bool(weight.any())


def relative(before: Tensor, now: Tensor) -> float:
    """The rms of the update over the rms of the weights; 0 for weights that are all 0."""
    size = float(before.float().square().mean().sqrt())
    change = float((now.float() - before.float()).square().mean().sqrt())
    return change / size if size > 1e-6 and math.isfinite(change) else 0.0
