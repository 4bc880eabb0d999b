"""Summarises a tensor: the number of NaNs, the number of infs, the largest finite magnitude.

Reads tensors and never writes one; each look waits for the device.
"""

import math
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from course_utils.diagnostics.libraries import pytorch


@dataclass(frozen=True)
class Values:
    """The counts of one floating tensor.

    >>> look(torch.tensor([1.0, -3.0, float("inf")]))
    Values(num_nan=0, num_inf=1, num_neg_inf=0, numel=3, largest=3.0)
    """

    num_nan: int
    num_inf: int
    num_neg_inf: int
    numel: int
    largest: float  # finite magnitudes only; 0.0 when there is none

    @property
    def is_finite(self) -> bool:
        return not (self.num_nan or self.num_inf or self.num_neg_inf)

    @property
    def has_nan(self) -> bool:
        return self.num_nan > 0

    @property
    def has_inf(self) -> bool:
        return self.num_inf + self.num_neg_inf > 0


def is_readable(tensor: Tensor) -> bool:
    """Whether the tensor can hold an inf or a NaN, and has data to look at."""
    is_number = tensor.is_floating_point() or tensor.is_complex()
    return is_number and not tensor.is_meta and tensor.layout in (torch.strided, torch.sparse_coo)


def storage_of(tensor: Tensor) -> torch.UntypedStorage:
    """The memory behind the values; views of one tensor share it."""
    return (pytorch.values_of(tensor) if tensor.is_sparse else tensor).untyped_storage()


def address_of(tensor: Tensor) -> int:
    """An address that identifies a storage as long as it exists."""
    return pytorch.address_of(storage_of(tensor))


def plain(tensor: Tensor) -> Tensor:
    """The same numbers as a dense real tensor, for which every reduction works."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = pytorch.values_of(tensor)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.float() if tensor.element_size() == 1 else tensor  # fp8 has no arithmetic


def look(tensor: Tensor) -> Values:
    """Count the values in `tensor` (floating, any shape and device); one pass if it is finite."""
    tensor = plain(tensor)
    if tensor.numel() == 0:
        return Values(0, 0, 0, 0, 0.0)
    low, high = (float(edge) for edge in torch.aminmax(tensor))  # both are NaN if one value is
    if math.isfinite(low) and math.isfinite(high):
        return Values(0, 0, 0, tensor.numel(), max(abs(low), abs(high)))
    finite = tensor.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    return Values(
        num_nan=int(tensor.isnan().sum()),
        num_inf=int(tensor.isposinf().sum()),
        num_neg_inf=int(tensor.isneginf().sum()),
        numel=tensor.numel(),
        largest=float(finite.abs().max()),
    )


def all_finite(tensor: Tensor) -> bool:
    """Whether every value is finite; True for integers."""
    return not is_readable(tensor) or look(tensor).is_finite


def measure(tensors: list[Tensor]) -> Tensor:
    """L2 norms in float32, shape (N,), on the first tensor's device, without waiting for it.

    A norm that is not finite needs a second look: the squares of finite numbers above 1.8e19
    overflow too.

    >>> measure([torch.tensor([3.0, 4.0]), torch.tensor([float("nan")])])
    tensor([5., nan])
    """
    norms = []
    for (_, dtype), group in groupby(tensors, key=lambda t: (t.device, t.dtype)):
        wide = torch.float32 if dtype == torch.float16 else None  # 65504 is soon passed
        of_group = pytorch.norms_of([plain(tensor) for tensor in group], wide)
        norms.append(torch.stack(of_group).float().to(tensors[0].device))
    return torch.cat(norms) if norms else torch.empty(0)
