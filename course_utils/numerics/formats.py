"""What a float format can hold, derived from its exponent and mantissa bits alone.

Knows six formats, tf32 included, which torch has no dtype for. Never draws, never trains.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.errors import BadRequest
from course_utils.shown.report import Table


@dataclass(frozen=True)
class FloatFormat:
    """A binary float format: one sign bit, exponent bits, mantissa bits (the leading 1 not stored).

    `has_inf` is False where the largest exponent holds ordinary numbers and one NaN, no inf.

    >>> fp16 = float_format("float16")
    >>> fp16.max, fp16.smallest_subnormal == 2**-24, fp16.round(1e-8)
    (65504.0, True, 0.0)
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    has_inf: bool = True

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def min_exponent(self) -> int:
        """The exponent of the smallest normal number: 1 minus the bias."""
        return 2 - 2 ** (self.exponent_bits - 1)

    @property
    def max_exponent(self) -> int:
        """The exponent of the largest number; one more where no exponent is kept for inf."""
        return 2 ** (self.exponent_bits - 1) - (1 if self.has_inf else 0)

    @property
    def max(self) -> float:
        """The largest number; without inf, the all-ones mantissa is NaN and the one below it."""
        largest_mantissa = 2 - 2.0**-self.mantissa_bits * (1 if self.has_inf else 2)
        return largest_mantissa * 2.0**self.max_exponent

    @property
    def overflow_at(self) -> float:
        """The smallest magnitude that rounds away from `max`: half a step above it.

        float16 still rounds 65519 down to 65504; 65520 becomes inf.
        """
        return self.max + self.ulp(self.max) / 2

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.min_exponent

    @property
    def smallest_subnormal(self) -> float:
        """The smallest number above 0; half of it and less rounds to 0."""
        return 2.0 ** (self.min_exponent - self.mantissa_bits)

    @property
    def eps(self) -> float:
        """The gap between 1 and the next number."""
        return 2.0**-self.mantissa_bits

    @property
    def max_exp_input(self) -> float:
        """The largest number x of this format for which exp(x) does not overflow it.

        >>> float_format("bfloat16").max_exp_input
        88.5
        """
        limit = math.log(self.overflow_at)
        step = self.ulp(limit)
        return math.floor(limit / step) * step

    def ulp(self, x: float) -> float:
        """The gap between the numbers of this format around `x`.

        Returns:
            The gap; inf beyond `max`, where there is no next number; nan for nan.

        >>> float_format("float16").ulp(2048)
        2.0
        """
        if math.isnan(x):
            return math.nan
        if abs(x) > self.max:
            return math.inf
        exponent = math.frexp(x)[1] - 1 if x else self.min_exponent
        return 2.0 ** (max(exponent, self.min_exponent) - self.mantissa_bits)

    def number_of(self, bits: int) -> float:
        """The number that these bits stand for: sign, exponent, mantissa, from the highest bit on.

        >>> [float_format("fp16").number_of(bits) for bits in (0x3C00, 0x7BFF, 0x8001, 0x7C00)]
        [1.0, 65504.0, -5.960464477539063e-08, inf]
        """
        stored, mantissa = divmod(bits % 2 ** (self.bits - 1), 2**self.mantissa_bits)
        sign = -1.0 if bits >> (self.bits - 1) else 1.0
        is_last = stored == 2**self.exponent_bits - 1
        if is_last and self.has_inf:
            return sign * math.inf if mantissa == 0 else math.nan
        if is_last and mantissa == 2**self.mantissa_bits - 1:
            return math.nan
        share = mantissa / 2**self.mantissa_bits + (1 if stored else 0)
        return sign * share * 2.0 ** (self.min_exponent + max(stored, 1) - 1)

    def round(self, x: float | Tensor) -> float | Tensor:
        """Round to the nearest number of this format, ties to the even mantissa.

        Args:
            x: a number, or a tensor of any shape on any device that has float64.

        Returns:
            A float for a number. For a tensor the same shape in float32 (float64 for float64),
            wide enough for every format here.

        Numerics:
            From `overflow_at` on the result is inf, or `max` in a format without inf: what torch
            2.13 does when it casts (float8_e4m3fn saturates there, even for inf).

        >>> float_format("tf32").round(torch.tensor([1.0, 1.0003, 1e-3]))
        tensor([1.0000, 1.0000, 0.0010])
        """
        if not isinstance(x, Tensor):
            return self.round(torch.tensor(x, dtype=torch.float64)).item()
        wide = x.double()
        exponent = torch.frexp(wide).exponent - 1
        step = torch.exp2(exponent.clamp(min=self.min_exponent).double() - self.mantissa_bits)
        rounded = torch.round(wide / step) * step  # both are exact: step is a power of two
        overflow = math.inf if self.has_inf else self.max
        rounded = torch.where(wide.abs() >= self.overflow_at, overflow * wide.sign(), rounded)
        return rounded.to(torch.promote_types(x.dtype, torch.float32))


FORMATS = {
    fmt.name: fmt
    for fmt in (
        FloatFormat("float32", exponent_bits=8, mantissa_bits=23),
        FloatFormat("tf32", exponent_bits=8, mantissa_bits=10),
        FloatFormat("bfloat16", exponent_bits=8, mantissa_bits=7),
        FloatFormat("float16", exponent_bits=5, mantissa_bits=10),
        FloatFormat("float8_e5m2", exponent_bits=5, mantissa_bits=2),
        FloatFormat("float8_e4m3fn", exponent_bits=4, mantissa_bits=3, has_inf=False),
    )
}
ALIASES = {
    "fp32": "float32",
    "float": "float32",
    "tensorfloat32": "tf32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "e5m2": "float8_e5m2",
    "e4m3": "float8_e4m3fn",
    "e4m3fn": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn",
}


def float_format(name: str | torch.dtype | FloatFormat) -> FloatFormat:
    """The format with this torch name, torch dtype, or common alias such as "bf16".

    Raises:
        BadRequest: there is no such format here.

    >>> float_format(torch.bfloat16) is float_format("bf16")
    True
    """
    if isinstance(name, FloatFormat):
        return name
    plain = str(name).lower().removeprefix("torch.")
    plain = ALIASES.get(plain, plain)
    if plain not in FORMATS:
        raise BadRequest(
            f"there is no float format {name!r} here",
            why="range and precision are known for the formats that models are trained in",
            fix=f"use one of {', '.join(FORMATS)}",
        )
    return FORMATS[plain]


def format_table(*names: str | torch.dtype | FloatFormat) -> Table:
    """The named formats side by side; all of them when none is named.

    >>> print(format_table("fp16").rows[0][:5])
    ('float16', '1+5+10', '65504', '6.1e-05', '5.96e-08')
    """
    rows = []
    for fmt in map(float_format, names or FORMATS):
        layout = f"1+{fmt.exponent_bits}+{fmt.mantissa_bits}"
        small = (fmt.smallest_normal, fmt.smallest_subnormal, fmt.eps)
        numbers = (f"{fmt.max:.5g}", *(f"{value:.3g}" for value in small))
        rows.append((fmt.name, layout, *numbers, f"{fmt.max_exp_input:.4g}"))
    columns = (
        "format",
        "sign+exponent+mantissa bits",
        "largest",
        "smallest normal",
        "smallest subnormal",
        "eps",
        "exp is finite up to",
    )
    return Table(columns=columns, rows=rows)
