"""Finishes a figure before it is shown: quiet axes, plain numbers, names that cover nothing.

A name can only find its place once limits, scales and layout are known, so all of it happens here.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogFormatter, LogFormatterMathtext, NullFormatter

from course_utils.shown.figures.colours import COLOURS, INK
from course_utils.shown.figures.geometry import Place, end_of, free_place, leader, spread, text_box

CURVE_NAME, LIMIT_NAME = "curve name", "limit name"  # what draw_curves and draw_limit mark
TEXT_PT, TITLE_PT = 10, 11
MARGIN_PX, MOVED_PX, NEAR_PX = 14, 3, 30
SAME_PX = 0.25  # layouts that differ by less look the same
MAX_PASSES = 6


def finish(fig: Figure) -> None:
    """Make `fig` ready to be shown; its layout does not change after that."""
    for ax in fig.axes:
        _quiet(ax)
        _plain_powers(ax)
    names = {ax: _Names(ax) for ax in fig.axes}
    boxes = None
    for _ in range(MAX_PASSES):  # names move, which changes the layout, which moves the names
        for each in names.values():
            each.hide_seekers()
        fig.draw_without_rendering()
        num_beside = [len(each.beside) for each in names.values()]
        before, boxes = boxes, np.array([ax.get_window_extent().bounds for ax in fig.axes])
        is_same = before is not None and np.allclose(boxes, before, rtol=0, atol=SAME_PX)
        for each in names.values():
            each.place()
        if is_same and num_beside == [len(each.beside) for each in names.values()]:
            break
    fig.set_layout_engine("none")


def plain_power(value: float, _position: int = 0) -> str:
    """A number as a log prints it, without a small exponent.

    >>> plain_power(1e34), plain_power(-1e-5), plain_power(100), plain_power(0)
    ('1e34', '-1e-5', '100', '0')
    """
    if value == 0 or 0.01 <= abs(value) < 1e4:
        return f"{value:g}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _quiet(ax: Axes) -> None:
    """Use one size for words, one for titles, and no frame beyond the two axes."""
    ax.tick_params(which="both", labelsize=TEXT_PT, labelcolor=INK)
    ax.title.set(fontsize=TITLE_PT, wrap=True, color=INK)
    if ax.name == "rectilinear":
        ax.spines[["top", "right"]].set_visible(False)


def _plain_powers(ax: Axes) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(FuncFormatter(plain_power))
        if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(NullFormatter() if len(_majors(axis)) > 1 else LogFormatter())


def _majors(axis) -> list[float]:
    low, high = sorted(axis.get_view_interval())
    return [tick for tick in axis.get_majorticklocs() if low <= tick <= high]


class _Names:
    """The names of curves and limits in one axes: placed beside the axes or within."""

    def __init__(self, ax: Axes) -> None:
        names = [text for text in ax.texts if text.get_gid() == CURVE_NAME]
        limits = [text for text in ax.texts if text.get_gid() == LIMIT_NAME]
        ends = {name: end_of(name, ax)[0] for name in names}
        right = max(ends.values(), default=0)
        self.ax = ax
        self.beside = [name for name in names if ends[name] >= right - 2]
        self.seekers = [(name, _around_end()) for name in names if name not in self.beside]
        self.seekers += [(limit, _along(limit)) for limit in limits]
        self.leaders: list[Line2D] = []

    def hide_seekers(self) -> None:
        """Hide names without a place, so that they take no room and are in nobody's way."""
        self._remove_leaders()
        for text, _ in self.seekers:
            text.set_visible(False)

    def place(self) -> None:
        """Find a place for each name; one without a place stays beside the axes."""
        num_beside = len(self.beside)
        self._place_beside()  # first, so that the others keep off their leaders
        for text, places in list(self.seekers):
            text.set_visible(True)
            found = free_place(text, self.ax, places)
            if not found:  # beside the axes in the next pass
                self.seekers.remove((text, places))
                self.beside.append(text)
            elif found.far:
                self._draw_leader(text)
        if len(self.beside) > num_beside:
            self._place_beside()

    def _place_beside(self) -> None:
        """Place names at the right of the axes, each as near to its curve's end as possible."""
        self._remove_leaders()
        box = self.ax.get_window_extent()
        ends = [end_of(text, self.ax) for text in self.beside]
        wanted = [min(max(y, box.y0), box.y1) for _, y in ends]
        heights = [text_box(text).height + 2 for text in self.beside]
        placed = spread(wanted, heights, box.y0, box.y1)
        for text, (x, _), level, y in zip(self.beside, ends, wanted, placed, strict=True):
            text.set(ha="left", va="center")
            text.anncoords = "axes fraction"
            text.xyann = (1 + MARGIN_PX / box.width, (y - box.y0) / box.height)
            if abs(y - level) > MOVED_PX or box.x1 - x > NEAR_PX:
                self._draw_leader(text)

    def _remove_leaders(self) -> None:
        while self.leaders:
            self.leaders.pop().remove()

    def _draw_leader(self, text: Annotation) -> None:
        points = self.ax.transAxes.inverted().transform(leader(text, self.ax).vertices)
        # Grey and dotted: a line in the curve's own look reads as a part of the curve.
        look = {"color": COLOURS["neutral"], "linestyle": ":", "linewidth": 0.8, "clip_on": False}
        line = Line2D(*points.T, transform=self.ax.transAxes, in_layout=False, **look)
        self.leaders.append(self.ax.add_artist(line))


def _around_end() -> list[Place]:
    """Places around the end of a curve, the nearest first."""
    sides = [(1, 0), (1, 1), (1, -1), (0, 1), (0, -1), (-1, 1), (-1, -1), (-1, 0)]
    words = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
    return [
        Place((x * reach, y * reach), ha=words[x][0], va=words[y][1], far=reach > 20)
        for reach in (8, 16, 28, 44, 64, 90)
        for x, y in sides
    ]


def _along(limit) -> list[Place]:
    """Places along a line, on either side of it."""
    horizontal = limit.xycoords[0] == "axes fraction"
    places = []
    for share in (0.01, 0.99, 0.5, 0.25, 0.75):
        near = "left" if share < 0.4 else "right" if share > 0.6 else "center"
        for side in (4, -4):
            if horizontal:
                at, words = (share, limit.xy[1]), (near, "bottom" if side > 0 else "top")
                places.append(Place((0, side), ha=words[0], va=words[1], at=at))
            else:
                at = (limit.xy[0], 1 - share)
                va = {"left": "top", "right": "bottom"}.get(near, "center")
                places.append(Place((side, 0), ha="left" if side > 0 else "right", va=va, at=at))
    return places
