"""Whether a gradient that is exactly 0 stays so once the other weights have moved.

Many are 0 in the first step alone: LoRA's A while B is 0, everything below a head of zeros. One
that stays 0 never trains. Weights are put back.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

STEPS = 2  # AdaLoRA needs two: its E is 0 as well as its B
SHARE = 0.01  # by which the largest of a tensor's numbers moves in a step
SMALL = 0.1  # what a tensor of zeros is taken for


def stays_zero(
    names: set[str], parameters: dict[str, Tensor], backward: Callable[[], dict[str, float | None]]
) -> set[str]:
    """Of these parameters, the ones whose gradient is still 0 after each of a few small steps.

    Args:
        names: those whose gradient was exactly 0.
        parameters: all that train, with their gradients.
        backward: runs a step anew and returns the largest magnitude of each gradient.
    """
    with _put_back(parameters):
        for _ in range(STEPS):
            if not names or not _descend(parameters):
                break
            for parameter in parameters.values():
                parameter.grad = None
            largest = backward()
            names = {name for name in names if largest[name] == 0}
    return names


@torch.no_grad()
def _descend(parameters: dict[str, Tensor]) -> bool:
    """Move each parameter against its gradient; False if none has one to follow."""
    has_moved = False
    for parameter in parameters.values():
        grad = parameter.grad
        if grad is None or not parameter.numel():
            continue
        grad = grad.to_dense() if grad.is_sparse else grad
        largest = float(grad.abs().max())
        if 0 < largest < math.inf:
            size = SHARE * max(float(parameter.abs().max()), SMALL)
            parameter.sub_((grad.float() * (size / largest)).to(parameter.dtype))
            has_moved = True
    return has_moved


@contextmanager
def _put_back(parameters: dict[str, Tensor]) -> Iterator[None]:
    kept = [p.detach().clone() for p in parameters.values()]
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, values in zip(parameters.values(), kept, strict=True):
                parameter.copy_(values)
