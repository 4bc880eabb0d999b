"""Whether a step computed wholly in one float format would stay within its range, and train."""

import math
from dataclasses import dataclass
from functools import reduce
from operator import or_

from course_utils.diagnostics.range_profile.magnitudes import Magnitudes
from course_utils.diagnostics.range_profile.measurement import (
    PARTS,
    Kind,
    Measurement,
    examined,
    first_outside,
)
from course_utils.numerics.formats import FloatFormat
from course_utils.shown.report import Report, Table

# State whose square root an optimizer divides by: Adam's, RMSprop's, Adagrad's.
DIVISORS = ("exp_avg_sq", "square_avg", "sum", "max_exp_avg_sq")
MANY = 0.05  # of the gradients or of the state: so many that the verdict has to say it


@dataclass(frozen=True)
class Survival(Report):
    """Whether a step computed wholly in one format would stay within its range.

    It does where no number leaves the range and no optimizer divides by 0; `examined` says which
    parts of a step this rests on.
    """

    format: FloatFormat
    measured_in: str  # the format of the weights
    largest: Measurement
    first: Measurement | None  # the first place, in the order of execution, that leaves the range
    share_lost: float | None  # of the gradients that are not 0; None without a backward pass
    loss_scale: float | None  # the largest power of two with which no gradient overflows
    share_lost_scaled: float | None  # of the gradients, with that loss scale
    examined: tuple[str, ...] = ()  # of "forward", "backward", "optimizer state"
    state_lost: float | None = None  # share of the optimizer's state that becomes 0
    divisors_lost: float | None = None  # share of what it takes the root of and divides by
    eps: float | None = None  # what it adds before it divides; None where it has none

    def __bool__(self) -> bool:
        return self.first is None and not self.divides_by_zero

    @property
    def divides_by_zero(self) -> bool:
        """Whether the optimizer would divide by 0 although it did not in the format measured."""
        return self.eps is not None and not self.format.round(self.eps) and bool(self.divisors_lost)

    @property
    def num_broken(self) -> int:
        """The count of numbers at `first` that are inf or nan already in the format measured."""
        if self.first is None:
            return 0
        numbers = self.first.magnitudes
        if numbers.num_not_finite or numbers.largest >= self.format.overflow_at:
            return numbers.num_not_finite
        return numbers.num_neg_inf

    @property
    def not_examined(self) -> tuple[str, ...]:
        return tuple(part for part in PARTS if part not in self.examined)

    @property
    def margin(self) -> float:
        """How many times the largest number could grow; below 1 it does not fit."""
        largest = self.largest.magnitudes.largest
        return self.format.max / largest if largest else math.inf

    @property
    def headline(self) -> str:
        name, limit = self.format.name, f"{self.format.max:.5g}"
        if self.first is not None:
            return self._say_first(self.first)
        if self.divides_by_zero:
            return (
                f"{name} cannot hold this step: {self.divisors_lost:.1%} of what the optimizer "
                f"divides by becomes 0, and so does its eps={self.eps:g}."
            )
        largest = f"the largest, in {self.largest.place}, is {self.margin:.2g} times below {limit}"
        if (self.state_lost or 0) > MANY:
            return (
                f"{name} keeps every number of this step finite, but {self.state_lost:.1%} of the "
                f"optimizer's state becomes 0; {largest}."
            )
        if not self.not_examined:
            return f"{name} holds every number of this step: {largest}."
        unseen = " and ".join(self.not_examined)
        return f"{name} holds every number of this step: {largest}. Not examined: {unseen}."

    def _say_first(self, first: Measurement) -> str:
        numbers = first.magnitudes
        if num := self.num_broken:
            return (
                f"This step left {first.dtype} itself: {first.place} holds "
                f"{num} numbers that are inf or nan."
            )
        return (
            f"{self.format.name} cannot hold this step: {first.place} reaches "
            f"{numbers.largest:.3g}, and the limit is {self.format.max:.5g}."
        )

    @property
    def cause(self) -> str:
        if self.num_broken:
            if self.first.kind is Kind.STEPPED:
                return "the optimizer's step made it: its state and its eps are in this format too"
            return f"an operation at or before {self.first.place}"
        if self.first is not None:
            return f"{self.first.place} is larger than {self.format.name} can say"
        if self.divides_by_zero:
            return (
                f"an optimizer keeps its state in the format of the weights, and in "
                f"{self.format.name} both squares of gradients and eps={self.eps:g} become 0"
            )
        if (self.state_lost or 0) > MANY:
            return f"squares of small gradients are below {self.format.name}'s smallest number"
        return ""

    @property
    def fix(self) -> str:
        if self.num_broken:
            if self.first.kind is Kind.STEPPED:
                return "train weights in float32 (with autocast, if memory is short), or bfloat16"
            return "trace_step(model, batch) names the operation; profile a float32 copy for sizes"
        if self.first is not None:
            return "train in bfloat16, or float32; or keep this module out of the half format"
        if self.divides_by_zero or (self.state_lost or 0) > MANY:
            return (
                "keep trainable weights in float32 and let autocast choose the format of the "
                "products, or train in bfloat16"
            )
        return ""

    def table(self) -> Table:
        if self.share_lost is None:
            return Table(columns=("loss scale", "gradients that become 0"), rows=[])
        rows = [("none", f"{self.share_lost:.2%}")]
        if self.loss_scale is not None:
            rows.append((f"2^{math.log2(self.loss_scale):.0f}", f"{self.share_lost_scaled:.2%}"))
        return Table(columns=("loss scale", "gradients that become 0"), rows=rows)

    def to_dict(self) -> dict:
        return {
            "format": self.format.name,
            "survives": bool(self),
            "first": self.first.place if self.first else None,
            "margin": self.margin,
            "share_lost": self.share_lost,
            "loss_scale": self.loss_scale,
            "share_lost_scaled": self.share_lost_scaled,
            "examined": list(self.examined),
            "state_lost": self.state_lost,
            "divides_by_zero": self.divides_by_zero,
            "cause": self.cause,
            "fix": self.fix,
        }


def judge(
    measured: tuple[Measurement, ...], fmt: FloatFormat, *, measured_in: str, eps: float | None
) -> Survival:
    """Judge a step that keeps every number measured in `fmt`."""
    gradients = _together(measured, Kind.GRADIENTS, Kind.WEIGHT_GRADIENTS)
    lost = scale = lost_scaled = None
    if gradients is not None:
        lost = gradients.share_lost(fmt)
        if gradients.largest:
            scale = 2.0 ** math.floor(math.log2(fmt.max / gradients.largest))
            lost_scaled = gradients.share_lost(fmt, scale=scale)
    state = _together(measured, Kind.OPTIMIZER)
    divisors = tuple(m for m in measured if m.detail.rpartition(" ")[2] in DIVISORS)
    divisor = _together(divisors, Kind.OPTIMIZER)
    return Survival(
        format=fmt,
        measured_in=measured_in,
        largest=max(measured, key=lambda m: m.magnitudes.largest),
        first=first_outside(measured, fmt),
        share_lost=lost,
        loss_scale=scale,
        share_lost_scaled=lost_scaled,
        examined=examined(measured),
        state_lost=state.share_lost(fmt) if state else None,
        divisors_lost=divisor.share_lost(fmt) if divisor else None,
        eps=eps,
    )


def _together(measured: tuple[Measurement, ...], *kinds: Kind) -> Magnitudes | None:
    own = [m.magnitudes for m in measured if m.kind in kinds]
    return reduce(or_, own) if own else None
