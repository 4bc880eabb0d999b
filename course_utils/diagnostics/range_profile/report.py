"""What a range profile measured, and whether a float format could hold it."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from course_utils.diagnostics.range_profile.magnitudes import Magnitudes
from course_utils.numerics.formats import FloatFormat, float_format
from course_utils.plotting import draw_curves, draw_limit
from course_utils.report import Report, Table

if TYPE_CHECKING:
    import torch
    from matplotlib.axes import Axes

COMPARED = ("float32", "bfloat16", "float16")
MAX_TICKS = 16


class Kind(StrEnum):
    """What a number is, in the order in which a step makes it."""

    WEIGHTS = "weights"
    ACTIVATIONS = "activations"
    GRADIENTS = "activation gradients"
    WEIGHT_GRADIENTS = "weight gradients"
    OPTIMIZER = "optimizer state"


@dataclass(frozen=True)
class Measured:
    """The numbers of one kind at one place."""

    kind: Kind
    module: str  # dotted name; "" is the model itself
    detail: str  # "output", "input", or the name of a parameter and its optimizer state
    magnitudes: Magnitudes

    @property
    def place(self) -> str:
        module = self.module or "the model"
        if self.kind in (Kind.ACTIVATIONS, Kind.GRADIENTS):
            return f"{self.detail} of {module}"
        return f"{self.module}.{self.detail}".lstrip(".")

    @property
    def layer(self) -> str:
        """The module up to its first number, such as model.layers.3."""
        numbered = re.match(r"(.*?\.)?\d+(?=\.|$)", self.module)
        return numbered.group() if numbered else self.module or "the model"

    def leaves(self, fmt: FloatFormat) -> bool:
        return self.magnitudes.largest >= fmt.overflow_at or self.magnitudes.num_not_finite > 0


@dataclass(frozen=True)
class Survival(Report):
    """Whether a step computed wholly in one format would stay within its range."""

    format: FloatFormat
    measured_in: str  # the format of the weights
    largest: Measured
    first: Measured | None  # the first place, in the order of execution, that leaves the range
    share_lost: float | None  # of the gradients that are not 0; None without a backward pass
    loss_scale: float | None  # the largest power of two with which no gradient overflows
    share_lost_scaled: float | None  # of the gradients, with that loss scale

    def __bool__(self) -> bool:
        return self.first is None

    @property
    def margin(self) -> float:
        """How many times the largest number could grow; below 1 it does not fit."""
        largest = self.largest.magnitudes.largest
        return self.format.max / largest if largest else math.inf

    @property
    def headline(self) -> str:
        name, limit = self.format.name, f"{self.format.max:.5g}"
        if self.first is None:
            return (
                f"{name} holds every number of this step: the largest, in {self.largest.place}, "
                f"is {self.margin:.2g} times below {limit}."
            )
        numbers = self.first.magnitudes
        if numbers.num_not_finite:
            return (
                f"This step left {self.measured_in} itself: {self.first.place} holds "
                f"{numbers.num_not_finite} numbers that are inf or nan."
            )
        return (
            f"{name} cannot hold this step: {self.first.place} reaches {numbers.largest:.3g}, "
            f"and the limit is {limit}."
        )

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
        }


@dataclass(frozen=True)
class RangeProfile(Report):
    """Every place of a step with the magnitudes of its numbers, in the order of execution."""

    measured: tuple[Measured, ...]
    dtypes: tuple[str, ...]  # of the weights

    @property
    def headline(self) -> str:
        return self.survives("float16").headline

    def of(self, kind: Kind | str) -> list[Measured]:
        return [measured for measured in self.measured if measured.kind == kind]

    def survives(self, fmt: "str | torch.dtype | FloatFormat") -> Survival:
        """Judge a step that keeps every number measured here in `fmt`.

        Under autocast, weights and sums between modules stay float32: what survives here survives
        there too, and some of what does not.
        """
        fmt = float_format(fmt)
        gradients = self.of(Kind.GRADIENTS) + self.of(Kind.WEIGHT_GRADIENTS)
        lost = scale = lost_scaled = None
        if gradients:
            together = reduce(or_, (measured.magnitudes for measured in gradients))
            lost = together.share_lost(fmt)
            if together.largest:
                scale = 2.0 ** math.floor(math.log2(fmt.max / together.largest))
                lost_scaled = together.share_lost(fmt, scale=scale)
        return Survival(
            format=fmt,
            measured_in=" and ".join(self.dtypes),
            largest=max(self.measured, key=lambda measured: measured.magnitudes.largest),
            first=next((m for m in self.measured if m.leaves(fmt)), None),
            share_lost=lost,
            loss_scale=scale,
            share_lost_scaled=lost_scaled,
        )

    def table(self) -> Table:
        """One row for each kind: its extremes, where the largest is, and which formats hold it."""
        formats = [float_format(name) for name in COMPARED]
        rows = []
        for kind in Kind:
            if not (places := self.of(kind)):
                continue
            total = reduce(or_, (measured.magnitudes for measured in places))
            worst = max(places, key=lambda m: (m.magnitudes.num_not_finite, m.magnitudes.largest))
            smallest = f"{total.smallest:.2g}" if math.isfinite(total.smallest) else "-"
            lost = f"{total.share_lost(float_format('float16')):.2%}"
            held_by = [_say_held(total, fmt) for fmt in formats]
            rows.append((kind, f"{total.largest:.3g}", worst.place, smallest, *held_by, lost))
        columns = ("numbers", "largest", "in", "smallest", *COMPARED, "0 in float16")
        return Table(columns=columns, rows=rows, notes=self._notes)

    @property
    def _notes(self) -> tuple[str, ...]:
        if set(self.dtypes) & {"float16", "bfloat16"}:
            measured_in = " and ".join(self.dtypes)
            return (f"Measured in {measured_in}: only float32 shows how far an overflow goes.",)
        return ()

    def by_layer(self, kind: Kind | str = Kind.ACTIVATIONS) -> dict[str, Magnitudes]:
        """The magnitudes of one kind, together for each layer, in the order of execution."""
        layers: dict[str, Magnitudes] = {}
        for measured in self.of(kind):
            known = layers.get(measured.layer)
            new = measured.magnitudes
            layers[measured.layer] = new if known is None else known | new
        return layers

    def draw(self, ax: "Axes", kind: Kind | str = Kind.ACTIVATIONS, fmt: str = "float16") -> None:
        """Draw the largest number of each layer against the limit of `fmt`; the title judges."""
        fmt, layers = float_format(fmt), self.by_layer(kind)
        sizes = [math.nan if m.num_not_finite else m.largest for m in layers.values()]
        draw_curves(ax, range(len(sizes)), {str(kind): sizes})
        draw_limit(ax, fmt.max, f"{fmt.name}: {fmt.max:.5g}")
        outside = [layer for layer, size in zip(layers, sizes, strict=True) if not size < fmt.max]
        title = f"{fmt.name} holds the {kind} of every layer"
        if outside:
            title = f"{outside[0]} leaves the range of {fmt.name}"
        short = {i: layer.rpartition(".")[2] for i, layer in enumerate(layers)}
        shown = range(0, len(short), math.ceil(len(short) / MAX_TICKS))
        ax.set(xlabel="layer, in the order of execution", ylabel="largest magnitude", title=title)
        ax.set_yscale("log")
        ax.set_xticks(shown, [short[i] for i in shown], rotation=45, ha="right")

    def to_dict(self) -> dict:
        places = [
            {
                "kind": str(m.kind),
                "place": m.place,
                "largest": m.magnitudes.largest,
                "smallest": m.magnitudes.smallest if sum(m.magnitudes.bins) else None,
                "num_not_finite": m.magnitudes.num_not_finite,
            }
            for m in self.measured
        ]
        survival = {name: self.survives(name).to_dict() for name in COMPARED}
        return {"headline": self.headline, "survives": survival, "measured": places}


def _say_held(numbers: Magnitudes, fmt: FloatFormat) -> str:
    if numbers.num_not_finite:
        return "inf or nan"
    return "NO" if numbers.largest >= fmt.overflow_at else "yes"
