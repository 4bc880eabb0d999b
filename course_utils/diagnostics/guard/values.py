"""What the guard looks at: weights, gradients, and what is counted of those that are bad.

Reads tensors and never writes one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from course_utils.errors import TrainingStopped


def harmless(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the guard whose own errors are counted in `failures`, and end no run."""

    @wraps(method)
    def guarded(self: Any, *args, **kwargs) -> Any:
        try:
            return method(self, *args, **kwargs)
        except TrainingStopped:
            raise
        except Exception as error:
            self.failures[f"{method.__name__} raised {type(error).__name__}: {error}"] += 1
            return None

    return guarded


@dataclass(frozen=True)
class BadValue:
    """One tensor or number that is not finite."""

    name: str
    dtype: str  # "float16" and so on; "number" for a logged value
    num_nan: int
    num_inf: int
    num_values: int
    row: int | None = None  # the first position along the first axis of a matrix

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> "BadValue":
        dtype = str(tensor.dtype).removeprefix("torch.")
        bad = ~tensor.isfinite()
        row = int(bad.flatten(1).any(1).nonzero()[0]) if tensor.dim() > 1 else None
        num_nan, num_inf = int(tensor.isnan().sum()), int(tensor.isinf().sum())
        return cls(name, dtype, num_nan, num_inf, tensor.numel(), row)


def trainable(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]


def gradients(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """One fused reduction and one wait; more only after an inf, which may be its own overflow.

    On a CPU the 2-norm takes a twentieth of the time of isfinite() or of the largest magnitude.
    """
    tensors = [t.detach() for t in tensors if t.is_floating_point() and t.numel()]
    norm = get_total_norm(tensors)
    return bool(norm.isfinite()) or all(bool(t.isfinite().all()) for t in tensors)
