"""Draws float formats: the range of their numbers, and the gaps between them.

Draws on axes it is given; the numbers come from the formats. What it draws is told in words as the
axes' label, which `describe` reads.
"""

import math

import torch
from matplotlib.axes import Axes

from course_utils.numerics.formats import FloatFormat, float_format
from course_utils.shown.figures.colours import COLOURS

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
        _draw_reach(ax, row, fmt)
    left = min(math.log10(fmt.smallest_subnormal) for fmt in rows)
    right = max(math.log10(fmt.max) for fmt in rows)
    decades = {fmt.name: math.log10(fmt.max / fmt.smallest_normal) for fmt in rows}
    widest, narrowest = max(decades, key=decades.get), min(decades, key=decades.get)
    ax.axvline(0, color=COLOURS["neutral"], linewidth=1)
    ax.set(
        xlabel="power of ten (thick: normal, thin: subnormal)",
        yticks=range(len(rows)),
        yticklabels=[fmt.name for fmt in rows],
        ylim=(len(rows) - 0.4, -0.6),
        xlim=(left - 1, right + 0.3 * (right - left)),
        title=f"{widest} spans {decades[widest]:.0f} decades, {narrowest} {decades[narrowest]:.0f}",
    )
    ax.xaxis.set_major_formatter(lambda power, _: f"1e{power:.0f}")
    ax.set_label(f"A bar for each format's normal numbers: {'; '.join(map(_say_reach, rows))}.")


def _draw_reach(ax: Axes, row: int, fmt: FloatFormat) -> None:
    start, normal, end = map(math.log10, (fmt.smallest_subnormal, fmt.smallest_normal, fmt.max))
    ax.barh(row, end - normal, left=normal, height=0.5, color=COLOURS["alive"])
    ax.barh(row, normal - start, left=start, height=0.15, color=COLOURS["alive"])
    look = {"textcoords": "offset points", "va": "center", "color": COLOURS["neutral"]}
    ax.annotate(f"{fmt.max:.5g}", (end, row), (6, 0), **look)


def _say_reach(fmt: FloatFormat) -> str:
    normal = f"{fmt.name} from {fmt.smallest_normal:.3g} to {fmt.max:.5g}"
    return f"{normal}, subnormal numbers down to {fmt.smallest_subnormal:.3g}"


def draw_numbers(ax: Axes, formats: tuple[Named, ...], *, low: float, high: float) -> None:
    """Draw every number that each format has in [low, high] as a tick on its own line.

    Both ends lie between the same two powers of two, where the gap is one and the same.

    >>> from matplotlib.figure import Figure
    >>> draw_numbers(Figure().subplots(), ("bf16", "fp16"), low=1000, high=1020)
    """
    rows = [float_format(name) for name in formats]
    ticks = [_numbers(fmt, low, high) for fmt in rows]
    ax.eventplot(ticks, colors=COLOURS["alive"], linelengths=0.6, linewidths=1.2)
    counts = {fmt.name: len(numbers) for fmt, numbers in zip(rows, ticks, strict=True)}
    most, fewest = max(counts, key=counts.get), min(counts, key=counts.get)
    ax.set(
        xlabel="x, one tick for each number of the format",
        yticks=range(len(rows)),
        yticklabels=[fmt.name for fmt in rows],
        ylim=(len(rows) - 0.5, -0.5),
        title=f"From {low:g} to {high:g}: {counts[most]} numbers in {most}, "
        f"{counts[fewest]} in {fewest}",
    )
    steps = [f"{fmt.name} every {fmt.ulp(low):g}" for fmt in rows]
    ax.set_label(f"A tick for each number: {', '.join(steps)}.")


def _numbers(fmt: FloatFormat, low: float, high: float) -> list[float]:
    step = fmt.ulp(low)
    first = math.ceil(low / step)
    return [step * n for n in range(first, math.floor(high / step) + 1)]
