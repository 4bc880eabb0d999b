"""Boxes and arrows on a sheet measured in inches, so that they line up exactly.

Draws on the sheet it made; knows nothing of any lesson and shows nothing.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course_utils.shown.plotting import COLOURS, INK, tint

SIZE = 10
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A box that was drawn; its sides are where arrows begin and end."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> Point:
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        return self.x + self.width / 2, self.y

    @property
    def top(self) -> Point:
        return self.x, self.y + self.height / 2

    @property
    def bottom(self) -> Point:
        return self.x, self.y - self.height / 2


def sheet(width: float, height: float) -> Axes:
    """Empty axes over a whole figure, one unit per inch, the origin at the lower left."""
    fig = plt.figure(figsize=(width, height))
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    return ax


def box(
    ax: Axes,
    at: Point,
    text: str,
    *,
    width: float = 1.2,
    height: float = 0.46,
    meaning: str = "neutral",
    filled: bool = False,
    font: str = "DejaVu Sans",
) -> Box:
    """A rounded box with `text` in its middle, edged in the colour of `meaning`.

    Args:
        at: its centre.
        filled: on a pale ground of that colour: something that acts, not a tensor that flows.
    """
    x, y = at
    corner = x - width / 2, y - height / 2
    style = "round,pad=0,rounding_size=0.06"
    look = {"facecolor": tint(meaning) if filled else "white", "edgecolor": COLOURS[meaning]}
    ax.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, linewidth=1.2, **look))
    ax.text(x, y, text, ha="center", va="center", color=INK, fontsize=SIZE, family=font)
    return Box(x, y, width, height)


def arrow(ax: Axes, start: Point, end: Point, *, meaning: str = "neutral", **style: object) -> None:
    """An arrow in the colour of `meaning`; `style` as matplotlib's arrowprops take it."""
    look = {"arrowstyle": "-|>", "shrinkA": 2, "shrinkB": 2, "linewidth": 1.3}
    look |= {"color": COLOURS[meaning], "mutation_scale": 11} | style
    ax.annotate("", end, start, arrowprops=look)


def path(
    ax: Axes, points: list[Point], *, meaning: str = "neutral", linewidth: float = 1.3
) -> None:
    """A line around corners through all `points`, with an arrow's head at the last."""
    xs, ys = zip(*points[:-1], strict=True)
    ax.plot(xs, ys, color=COLOURS[meaning], linewidth=linewidth, solid_joinstyle="miter")
    arrow(ax, points[-2], points[-1], meaning=meaning, shrinkA=0, linewidth=linewidth)


def note(
    ax: Axes, at: Point, text: str, *, meaning: str = "neutral", ha: str = "center", **style: object
) -> None:
    """Words beside their subject, in the colour of `meaning`."""
    look = {"ha": ha, "va": "center", "fontsize": SIZE - 1, "color": COLOURS[meaning]}
    ax.text(*at, text, **look | style)
