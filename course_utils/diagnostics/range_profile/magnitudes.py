"""How large and how small the numbers of tensors are, counted by powers of two.

Measures on the tensors' own device and waits for it once, at the end.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from course_utils.numerics.formats import FloatFormat

# Powers of two from float32's smallest subnormal to its largest number, one bin each.
LOWEST, HIGHEST = -149, 127
NUM_BINS = HIGHEST - LOWEST + 1


@dataclass(frozen=True)
class Magnitudes:
    """The magnitudes of some numbers; zeros, infs and NaNs are counted apart."""

    largest: float  # of the finite ones; 0 if there are none
    smallest: float  # of those that are not zero; inf if there are none
    num_not_finite: int  # +inf and NaN
    num_neg_inf: int  # how masks are written, but also what an overflow may give
    # bins[i] numbers lie in [2**(LOWEST + i), 2**(LOWEST + i + 1))
    bins: tuple[int, ...] = field(repr=False)

    def __or__(self, other: "Magnitudes") -> "Magnitudes":
        return Magnitudes(
            max(self.largest, other.largest),
            min(self.smallest, other.smallest),
            self.num_not_finite + other.num_not_finite,
            self.num_neg_inf + other.num_neg_inf,
            tuple(map(sum, zip(self.bins, other.bins, strict=True))),
        )

    def share_lost(self, fmt: FloatFormat, *, scale: float = 1.0) -> float:
        """The share of the numbers that round to 0 in `fmt` after multiplication by `scale`.

        `scale` is a power of two, as loss scales are. What is below half the smallest subnormal
        becomes 0; exactly half does too, but its bin holds larger numbers as well.
        """
        first_kept = math.log2(fmt.smallest_subnormal / 2 / scale) - LOWEST
        total = sum(self.bins)
        return sum(self.bins[: max(int(first_kept), 0)]) / total if total else 0.0


def measure(tensor: Tensor) -> Tensor:
    """The magnitudes of a floating-point tensor as one float64 vector on its device.

    The exact lowest number of its dtype is a mask by convention and not counted.
    """
    values = tensor.detach().float()
    is_mask = (values == -math.inf) | (values == torch.finfo(tensor.dtype).min)
    counted = values.isfinite() & ~is_mask & (values != 0)
    sizes = values.abs()
    exponents = torch.where(counted, torch.frexp(sizes).exponent - 1, LOWEST - 10)
    ends = torch.stack(
        [
            torch.where(counted, sizes, 0).amax(),
            torch.where(counted, sizes, math.inf).amin(),
            (~values.isfinite() & ~is_mask).sum(),
            (values == -math.inf).sum(),
        ]
    )
    bins = torch.histc(exponents.float(), bins=NUM_BINS, min=LOWEST - 0.5, max=HIGHEST + 0.5)
    return torch.cat([ends.double(), bins.double()])


def read(measured: list[Tensor]) -> list[Magnitudes]:
    """Bring measurements to the CPU in one transfer."""
    if not measured:
        return []
    rows = torch.stack([vector.to(measured[0].device) for vector in measured]).tolist()
    return [Magnitudes(r[0], r[1], int(r[2]), int(r[3]), tuple(map(int, r[4:]))) for r in rows]
