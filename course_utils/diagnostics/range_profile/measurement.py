"""The numbers of one kind at one place of a training step."""

import re
from dataclasses import dataclass
from enum import StrEnum

from course_utils.diagnostics.range_profile.magnitudes import Magnitudes
from course_utils.numerics.formats import FloatFormat

# Parts of a step, in the words of a verdict, and the kinds of numbers that show each was looked at.
PARTS = ("forward", "backward", "optimizer state")


class Kind(StrEnum):
    """What a number is, in the order in which a step makes it."""

    WEIGHTS = "weights"
    ACTIVATIONS = "activations"
    GRADIENTS = "activation gradients"
    WEIGHT_GRADIENTS = "weight gradients"
    OPTIMIZER = "optimizer state"
    STEPPED = "weights after the step"


@dataclass(frozen=True)
class Measurement:
    """The numbers of one kind at one place."""

    kind: Kind
    module: str  # dotted name; "" is the model itself
    detail: str  # "output", "input", or the name of a parameter and its optimizer state
    magnitudes: Magnitudes
    dtype: str = "float32"  # it was measured in

    @property
    def place(self) -> str:
        module = self.module or "the model"
        if self.kind in (Kind.ACTIVATIONS, Kind.GRADIENTS):
            return f"{self.detail} of {module}"
        own = f"{self.module}.{self.detail}".lstrip(".")
        return f"{own} after the step" if self.kind is Kind.STEPPED else own

    @property
    def layer(self) -> str:
        """The module up to its first number, such as model.layers.3."""
        numbered = re.match(r"(.*?\.)?\d+(?=\.|$)", self.module)
        return numbered.group() if numbered else self.module or "the model"

    def leaves(self, fmt: FloatFormat) -> bool:
        return self.magnitudes.largest >= fmt.overflow_at or self.magnitudes.num_not_finite > 0

    @property
    def may_have_overflowed(self) -> bool:
        """Whether -inf stands beside ordinary numbers; in a mask it stands beside zeros."""
        return self.magnitudes.num_neg_inf > 0 and self.magnitudes.largest > 0


def first_outside(measured: tuple[Measurement, ...], fmt: FloatFormat) -> Measurement | None:
    """The first place that leaves the range of `fmt`, in the order of execution.

    A -inf that an overflow made turns into nan later, or into inf; one that a mask holds does not.
    """
    has_broken = any(m.magnitudes.num_not_finite for m in measured)
    return next(
        (m for m in measured if m.leaves(fmt) or (has_broken and m.may_have_overflowed)), None
    )


def examined(measured: tuple[Measurement, ...]) -> tuple[str, ...]:
    """The parts of the step that were looked at."""
    kinds = {m.kind for m in measured}
    shown = (Kind.ACTIVATIONS, Kind.WEIGHT_GRADIENTS, Kind.OPTIMIZER)
    return tuple(part for part, kind in zip(PARTS, shown, strict=True) if kind in kinds)
