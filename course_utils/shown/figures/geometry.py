"""Positions of words in a laid-out figure, in pixels, and free places for more words."""

from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

GAP_PX = 2


@dataclass(frozen=True)
class Place:
    """A place for an annotation: points away from what it names, and how it is aligned there."""

    offset: tuple[float, float]
    ha: str
    va: str
    at: tuple[float, float] | None = None  # what it names, if that moves too
    far: bool = False  # it then needs a line to what it names


def text_box(text: Text) -> Bbox:
    """The box of the words alone: an annotation's own box includes its arrow."""
    text.get_window_extent()  # an annotation finds its position only now
    return Text.get_window_extent(text)


def free_place(text: Annotation, ax: Axes, places: list[Place]) -> Place | None:
    """Move `text` to the first of `places` where it covers nothing; None if there is none."""
    taken = [text_box(other) for other in ax.texts if other is not text and other.get_visible()]
    paths = [drawn_path(line) for line in ax.lines if line.get_linestyle() != "None"]
    bars = [patch.get_window_extent() for patch in ax.patches]
    room = ax.get_window_extent().padded(-GAP_PX)
    for place in places:
        _move(text, place)
        box = text_box(text).padded(GAP_PX)
        if not (room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 <= box.y1 <= room.y1):
            continue
        if any(box.overlaps(other) for other in taken + bars):
            continue
        if place.far and any(leader(text, ax).intersects_bbox(other) for other in taken):
            continue
        if not any(path.intersects_bbox(box, filled=False) for path in paths):
            return place
    return None


def spread(wanted: list[float], sizes: list[float], low: float, high: float) -> list[float]:
    """Centres near the `wanted` ones at which items of these `sizes` do not overlap.

    They keep their order and stay within low and high, if there is room for all; else they
    go on below low.

    >>> spread([10.0, 11.0, 50.0], [4.0, 4.0, 4.0], 0.0, 100.0)
    [8.5, 12.5, 50.0]
    """
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    gaps = [(sizes[a] + sizes[b]) / 2 for a, b in pairwise(order)]
    ups = _pushed([wanted[i] for i in order], gaps)
    downs = [-y for y in _pushed([-wanted[i] for i in reversed(order)], gaps[::-1])][::-1]
    middle = [(up + down) / 2 for up, down in zip(ups, downs, strict=True)]
    if order:
        middle[0] = max(middle[0], low + sizes[order[0]] / 2)
        middle = _pushed(middle, gaps)
        middle[-1] = min(middle[-1], high - sizes[order[-1]] / 2)
        middle = [-y for y in _pushed([-y for y in reversed(middle)], gaps[::-1])][::-1]
    placed = dict(zip(order, middle, strict=True))
    return [placed[i] for i in range(len(wanted))]


def end_of(text: Annotation, ax: Axes) -> tuple[float, float]:
    """The point that `text` names, in pixels; its coordinates may be those of the data."""
    places = text.xycoords if isinstance(text.xycoords, tuple) else (text.xycoords,) * 2
    return tuple(
        (ax.transAxes if place == "axes fraction" else ax.transData).transform(text.xy)[axis]
        for axis, place in enumerate(places)
    )


def leader(text: Annotation, ax: Axes) -> Path:
    """The line from the point that `text` names to the nearest side of its words."""
    x, y = end_of(text, ax)
    box = text_box(text).padded(GAP_PX)
    to_x = min(max(x, box.x0), box.x1)
    to_y = (box.y0 + box.y1) / 2 if to_x != x else min(max(y, box.y0), box.y1)
    return Path([(x, y), (to_x, to_y)])


def _pushed(positions: list[float], gaps: list[float]) -> list[float]:
    """The same positions, each moved up as far as the one before it requires."""
    pushed = positions[:1]
    for position, gap in zip(positions[1:], gaps, strict=True):
        pushed.append(max(position, pushed[-1] + gap))
    return pushed


def _move(text: Annotation, place: Place) -> None:
    text.set(ha=place.ha, va=place.va)
    text.anncoords, text.xyann = "offset points", place.offset
    if place.at:
        text.xy = place.at


def drawn_path(line):
    """The path of a line in pixels, as it is drawn."""
    return line.get_transform().transform_path(line.get_path())
