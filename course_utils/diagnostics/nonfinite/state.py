"""What a step reads besides its batch: random numbers, buffers, autocast; and its gradients.

Enough to run one step again, bit for bit, and to leave no trace of having done so.
"""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from course_utils.diagnostics.libraries.pytorch import device_types


@dataclass(frozen=True)
class Autocast:
    """Whether autocast is on for one device type, and in which format."""

    device_type: str
    enabled: bool
    dtype: torch.dtype
    cache_enabled: bool

    @classmethod
    def now(cls, device_type: str) -> "Autocast":
        return cls(
            device_type,
            torch.is_autocast_enabled(device_type),
            torch.get_autocast_dtype(device_type),
            torch.is_autocast_cache_enabled(),
        )

    def enter(self) -> torch.autocast:
        return torch.autocast(
            self.device_type,
            dtype=self.dtype,
            enabled=self.enabled,
            cache_enabled=self.cache_enabled,
        )


@dataclass(frozen=True)
class Surroundings:
    """Everything outside batch and weights that a forward pass may read or change."""

    cpu_rng: Tensor
    cuda_rng: dict[torch.device, Tensor]
    python_rng: tuple
    numpy_rng: tuple
    autocasts: tuple[Autocast, ...]
    buffers: list[tuple[Tensor, Tensor]]  # the buffer and a copy of its values

    @classmethod
    def now(cls, roots: list[nn.Module]) -> "Surroundings":
        """Copy the current state; no copy waits for the device."""
        cuda = _cuda_devices(roots)
        # torch declares no version counter for BatchNorm's statistics: copy, do not compare.
        buffers = {id(b): b for root in roots for b in root.buffers()}.values()
        return cls(
            cpu_rng=torch.get_rng_state(),
            cuda_rng={device: torch.cuda.get_rng_state(device) for device in cuda},
            python_rng=random.getstate(),
            numpy_rng=np.random.get_state(),
            autocasts=tuple(Autocast.now(kind) for kind in device_types()),
            buffers=[(buffer, buffer.detach().clone()) for buffer in buffers],
        )

    def put_back(self) -> None:
        """Restore each part even if another fails; the first error is raised at the end."""
        with ExitStack() as stack:
            stack.callback(torch.set_rng_state, self.cpu_rng)
            stack.callback(random.setstate, self.python_rng)
            stack.callback(np.random.set_state, self.numpy_rng)
            for device, state in self.cuda_rng.items():
                stack.callback(torch.cuda.set_rng_state, state, device)
            for buffer, values in self.buffers:
                stack.callback(_write, buffer, values)

    @contextmanager
    def again(self, roots: list[nn.Module]) -> Iterator[None]:
        """In the block, numbers and buffers are as in this copy; afterwards as they are now."""
        present = Surroundings.now(roots)
        try:
            self.put_back()
            yield
        finally:
            present.put_back()

    @contextmanager
    def autocast(self) -> Iterator[None]:
        """Autocast as it was; for the forward pass only, as in training."""
        with ExitStack() as stack:
            for autocast in self.autocasts:
                stack.enter_context(autocast.enter())
            yield


def _write(buffer: Tensor, values: Tensor) -> None:
    with torch.no_grad():
        buffer.copy_(values)


def _cuda_devices(roots: list[nn.Module]) -> list[torch.device]:
    devices = {p.device for root in roots for p in root.parameters() if p.is_cuda}
    return sorted(devices, key=lambda device: device.index)


@contextmanager
def set_gradients_aside(tensors: list[Tensor]) -> Iterator[None]:
    """In the block, no tensor has a gradient yet; afterwards each has its old one again.

    One of another shape, as resizing an embedding leaves it, belongs to nothing and is dropped.
    """
    kept = [tensor.grad for tensor in tensors]
    for tensor in tensors:
        tensor.grad = None
    try:
        yield
    finally:
        for tensor, grad in zip(tensors, kept, strict=True):
            tensor.grad = grad if grad is None or grad.shape == tensor.shape else None


@contextmanager
def undo_optimizer_step(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """In the block, the optimizer may step; afterwards weights and state are as before."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    weights = [p.detach().clone() for p in parameters]
    state = {p: {k: _copy(v) for k, v in s.items()} for p, s in optimizer.state.items()}
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, values in zip(parameters, weights, strict=True):
                parameter.copy_(values)
        optimizer.state.clear()
        optimizer.state.update(state)


def _copy(value):
    return value.clone() if isinstance(value, Tensor) else value
