"""What a range profile measured, and whether a float format could hold it."""

import math
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from course_utils.diagnostics.range_profile.magnitudes import Magnitudes
from course_utils.diagnostics.range_profile.measurement import PARTS, Kind, Measurement, examined
from course_utils.diagnostics.range_profile.survival import Survival, judge
from course_utils.numerics.formats import FloatFormat, float_format
from course_utils.shown.report import Report, Table

if TYPE_CHECKING:
    import torch
    from matplotlib.axes import Axes

COMPARED = ("float32", "bfloat16", "float16")
MAX_TICKS = 16


@dataclass(frozen=True)
class RangeProfile(Report):
    """Every place of a step with the magnitudes of its numbers, in the order of execution."""

    measured: tuple[Measurement, ...]
    dtypes: tuple[str, ...]  # of the weights
    eps: float | None = None  # the optimizer's, if one was given that has it

    @property
    def headline(self) -> str:
        return self.survives("float16").headline

    @property
    def cause(self) -> str:
        return self.survives("float16").cause

    @property
    def fix(self) -> str:
        return self.survives("float16").fix

    def of(self, kind: Kind | str) -> list[Measurement]:
        return [measured for measured in self.measured if measured.kind == kind]

    def survives(self, fmt: "str | torch.dtype | FloatFormat") -> Survival:
        """Judge a step that keeps every number measured here in `fmt`.

        Under autocast, weights and sums between modules stay float32: what survives here survives
        there too, and some of what does not.
        """
        return judge(
            self.measured,
            float_format(fmt),
            measured_in=" and ".join(self.dtypes),
            eps=self.eps,
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
        seen = examined(self.measured)
        unseen = [part for part in PARTS if part not in seen]
        notes = [f"Examined: {', '.join(seen)}. Not examined: {', '.join(unseen) or 'nothing'}."]
        halves = {m.dtype for m in self.measured} & {"float16", "bfloat16"}
        if halves:
            measured_in = " and ".join(sorted(halves))
            notes.append(f"Measured in {measured_in}: only float32 shows how far an overflow goes.")
        return tuple(notes)

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
        # matplotlib, which measuring does not need
        from course_utils.shown.plotting import draw_curves, draw_limit

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
