"""Float formats as pictures: which numbers they reach, and how far apart those are.

Draws on axes it is given; the numbers come from the formats.
"""

import math

import numpy as np
import torch
from matplotlib.axes import Axes

from course_utils.numerics.formats import FloatFormat, float_format
from course_utils.plotting import GREY, STYLES, draw_curves

Named = str | torch.dtype | FloatFormat


def draw_number_line(ax: Axes, formats: tuple[Named, ...]) -> None:
    """Draw each format's positive numbers as a bar over powers of ten, from smallest to largest.

    The thick part holds the normal numbers, the thin part the subnormal ones, which lose a digit
    at every step to the left. The title says who reaches farthest.

    >>> from matplotlib.figure import Figure
    >>> draw_number_line(Figure().subplots(), ("bf16", "fp16"))
    """
    rows = [float_format(name) for name in formats]
    for row, fmt in enumerate(rows):
        blue = STYLES[0]["color"]
        start, normal, end = (
            math.log10(x) for x in (fmt.smallest_subnormal, fmt.smallest_normal, fmt.max)
        )
        ax.barh(row, end - normal, left=normal, height=0.5, color=blue)
        ax.barh(row, normal - start, left=start, height=0.15, color=blue)
        largest = f"{fmt.max:.5g}"
        ax.annotate(
            largest, (end, row), (6, 0), textcoords="offset points", va="center", color=GREY
        )
    left = min(math.log10(fmt.smallest_subnormal) for fmt in rows)
    right = max(math.log10(fmt.max) for fmt in rows)
    decades = {fmt.name: math.log10(fmt.max / fmt.smallest_normal) for fmt in rows}
    widest, narrowest = max(decades, key=decades.get), min(decades, key=decades.get)
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set(
        xlabel="power of ten (thick: normal, thin: subnormal)",
        yticks=range(len(rows)),
        yticklabels=[fmt.name for fmt in rows],
        ylim=(len(rows) - 0.4, -0.6),
        xlim=(left - 1, right + 0.3 * (right - left)),
        title=f"{widest} spans {decades[widest]:.0f} decades, {narrowest} {decades[narrowest]:.0f}",
    )
    ax.xaxis.set_major_formatter(lambda power, _: f"1e{power:.0f}")


def draw_ulp(ax: Axes, formats: tuple[Named, ...], *, low: float, high: float) -> None:
    """Draw the gap to the next number over [low, high], both axes in powers of two.

    Each format is a staircase: the gap doubles at every power of two, is flat among the
    subnormal numbers, and ends with a cross where the format ends.

    >>> from matplotlib.figure import Figure
    >>> draw_ulp(Figure().subplots(), ("bf16", "fp16"), low=2**-10, high=2**10)
    """
    rows = [float_format(name) for name in formats]
    x = np.geomspace(low, high, 400)
    gaps = {fmt.name: [_drawable(fmt.ulp(value)) for value in x] for fmt in rows}
    draw_curves(ax, x, gaps)
    coarsest = max(rows, key=lambda fmt: fmt.ulp(min(high, fmt.max)))
    end = min(high, coarsest.max)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set(
        xlabel="x",
        ylabel="gap to the next number",
        title=f"Around {end:.5g}, {coarsest.name} steps by {coarsest.ulp(end):.4g}",
    )


def _drawable(gap: float) -> float:
    return gap if math.isfinite(gap) else math.nan
