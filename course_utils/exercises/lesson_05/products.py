"""Counts the matrix products that run, and notes every format. Judges nothing."""

from collections import Counter

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "linear", "matmul"}


class Products(TorchDispatchMode):
    """While entered, counts matrix products by dtype: whatever module or function asks for them.

    Works below autograd and autocast, so it sees the format that a kernel is really given.

    >>> with Products() as products:
    ...     _ = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> products.count
    Counter({torch.float32: 1})
    """

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[torch.dtype] = Counter()
        self.formats: set[torch.dtype] = set()  # of every result, whatever computed it

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.formats.add(result.dtype)
        if func._schema.name.rpartition("::")[2] in PRODUCTS:
            self.count[result.dtype] += 1
        return result

    def share(self, *dtypes: torch.dtype) -> float:
        """Of all products, those in one of these formats; 0 when there was none."""
        total = sum(self.count.values())
        return sum(self.count[dtype] for dtype in dtypes) / total if total else 0.0
