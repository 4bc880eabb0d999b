"""Serves an adapter at another scale than the one it was trained with."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def scaled(model: nn.Module, k: float) -> Iterator[nn.Module]:
    """The model with every LoRA scale times k, while the block runs."""
    layers = [one for one in model.modules() if isinstance(getattr(one, "scaling", None), dict)]
    before = [dict(layer.scaling) for layer in layers]
    for layer in layers:
        layer.scaling = {name: k * own for name, own in layer.scaling.items()}
    try:
        yield model
    finally:
        for layer, own in zip(layers, before, strict=True):
            layer.scaling = own
