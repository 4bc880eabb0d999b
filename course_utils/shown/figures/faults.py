"""Finds what cannot be read in a figure, by looking at the drawn picture itself."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox

from course_utils.errors import FigureFault
from course_utils.shown.figures.colours import COLOURS, contrast
from course_utils.shown.figures.geometry import drawn_path, text_box

PAGE_PX = 900  # as wide as a page shows a figure; a wider one is shrunk, and its words with it
MIN_PT, MIN_CONTRAST = 9, 4.5
SMALL_SCRIPT = 0.7  # of the size of the words around it, in mathtext


def refuse_faults(fig: Figure) -> None:
    """Raise for the first figure with a fault.

    Raises:
        FigureFault: with all that was found.
    """
    if found := faults(fig):
        titles = [ax.get_title() for ax in fig.axes if ax.get_title()]
        raise FigureFault(
            f"the figure {' '.join(titles[:1])!r}: {'; '.join(found)}",
            why="a reader could not read it",
            fix="draw with course_utils.shown.plotting, shorten words, or make the figure larger",
        )


def faults(fig: Figure) -> list[str]:
    """Every fault as a sentence; an empty list for a figure that can be read."""
    fig.draw_without_rendering()
    words = _words(fig)
    return [
        *_too_small(fig, words),
        *_outside(fig, words),
        *_overlapping(words),
        *_covered_or_pale(fig, words),
        *_off_palette(fig),
    ]


def _too_small(fig: Figure, words: list[Text]):
    shrunk = min(1, PAGE_PX / (fig.get_figwidth() * 100))
    for text in words:
        script = SMALL_SCRIPT if _has_script(text.get_text()) else 1
        size = text.get_fontsize() * script * shrunk
        if size < MIN_PT - 0.01:
            yield f"{_name(text)} is shown at {size:.1f} pt, less than {MIN_PT}"


def _outside(fig: Figure, words: list[Text]):
    page = fig.bbox.padded(0.5)
    for text in words:
        box = text_box(text)
        if box.x0 < page.x0 or box.x1 > page.x1 or box.y0 < page.y0 or box.y1 > page.y1:
            yield f"{_name(text)} leaves the figure"


def _overlapping(words: list[Text]):
    outlines = [_outline(text) for text in words]
    for (one, its), (other, others) in combinations(zip(words, outlines, strict=True), 2):
        if its.intersects_path(others, filled=True):
            yield f"{_name(one)} overlaps {_name(other)}"


def _covered_or_pale(fig: Figure, words: list[Text]):
    """Render the figure without its words, and look at what lies under each of them."""
    pixels = _without(fig, words)
    for text in words:
        under = _under(text, pixels)
        if not under:
            continue  # outside the figure, which is a separate fault
        ground, _ = under.most_common(1)[0]
        strangers = sum(n for colour, n in under.items() if _differ(colour, ground))
        if strangers > text.get_fontsize() / 2:
            yield f"{_name(text)} lies over something drawn"
        found = contrast(_blended(text, ground), ground)
        if found < MIN_CONTRAST:
            yield f"{_name(text)} has a contrast of {found:.1f}, less than {MIN_CONTRAST}"
        if text.get_bbox_patch() and _hides_a_line(text):
            yield f"the box of {_name(text)} hides a curve"


def _off_palette(fig: Figure):
    found = {to_hex(colour) for colour in _colours(fig) if not _belongs(colour)}
    for colour in sorted(found):
        yield f"the colour {colour} means nothing here"


def _words(fig: Figure) -> list[Text]:
    """All words that are drawn: titles, labels, notes, and the ticks within view."""
    hidden = {id(tick) for axis in fig.findobj(Axis) for tick in _unseen_ticks(axis)}
    found = []
    for artist in fig.findobj(Text):
        if artist.get_text().strip() and _is_drawn(artist) and id(artist) not in hidden:
            found.append(artist)
    return found


def _unseen_ticks(axis: Axis):
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    is_on = axis.axes.axison and axis.get_visible() and axis.axes.get_visible()
    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
        if not is_on or not low - slack <= tick.get_loc() <= high + slack:
            yield from (tick.label1, tick.label2)
    if not is_on:
        yield from (axis.label, axis.offsetText)


def _is_drawn(artist) -> bool:
    in_axes = not isinstance(artist.axes, Axes) or artist.axes.get_visible()
    return in_axes and artist.get_visible() and artist.get_alpha() != 0


def _outline(text: Text) -> Path:
    """The rectangle of the words, turned as they are, and a little smaller."""
    box, turn = text_box(text), text.get_rotation()
    if turn % 90:
        text.set_rotation(0)
        flat = text_box(text)
        text.set_rotation(turn)
        box = Bbox.from_bounds(
            box.x0 + (box.width - flat.width) / 2,
            box.y0 + (box.height - flat.height) / 2,
            flat.width,
            flat.height,
        )
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    small = box.padded(-1)
    corners = Path([*small.corners()[[0, 1, 3, 2]], small.corners()[0]])
    return corners.transformed(Affine2D().rotate_deg_around(*middle, turn % 90 and turn))


def _without(fig: Figure, words: list[Text]) -> np.ndarray:
    """The pixels of the figure (height, width, 3) as floats, with the words left out."""
    alphas = [text.get_alpha() for text in words]
    for text in words:
        text.set_alpha(0)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    for text, alpha in zip(words, alphas, strict=True):
        text.set_alpha(alpha)
    return np.asarray(canvas.buffer_rgba())[..., :3] / 255


def _under(text: Text, pixels: np.ndarray) -> Counter:
    """How many pixels of each colour lie under the words."""
    outline = _outline(text)
    box = outline.get_extents()
    xs, ys = (
        np.arange(max(0, math.ceil(low)), min(size, math.floor(high)))
        for low, high, size in ((box.x0, box.x1, pixels.shape[1]), (box.y0, box.y1, len(pixels)))
    )
    places = [(x, y) for y in ys for x in xs]
    if not places:
        return Counter()
    within = outline.contains_points([(x + 0.5, y + 0.5) for x, y in places])
    inside = [place for place, is_within in zip(places, within, strict=True) if is_within]
    return Counter(tuple(map(float, pixels[len(pixels) - 1 - y, x])) for x, y in inside)


def _differ(one: tuple, other: tuple) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) > 0.1


def _blended(artist: Text, ground: tuple) -> tuple:
    *colour, alpha = to_rgba(artist.get_color(), artist.get_alpha())
    return tuple(alpha * c + (1 - alpha) * g for c, g in zip(colour, ground, strict=True))


def _hides_a_line(text: Text) -> bool:
    if text.axes is None or text.get_bbox_patch().get_facecolor()[3] < 0.1:
        return False
    box = text.get_bbox_patch().get_window_extent()
    return any(drawn_path(line).intersects_bbox(box, filled=False) for line in text.axes.lines)


def _colours(fig: Figure):
    """Every colour of lines, surfaces, words and images, on white."""
    for artist in fig.findobj(_is_drawn):
        if isinstance(artist, Text) and artist.get_text():
            found = [artist.get_color()]
        elif isinstance(artist, Line2D):
            found = [artist.get_color()] if len(artist.get_xdata()) else []
        elif isinstance(artist, Patch):
            edge = [artist.get_edgecolor()] if artist.get_linewidth() else []
            found = [artist.get_facecolor(), *edge]
        elif isinstance(artist, Collection):
            found = [*artist.get_facecolor(), *artist.get_edgecolor()]
        elif isinstance(artist, AxesImage):
            found = np.unique(artist.to_rgba(artist.get_array()).reshape(-1, 4), axis=0)
        else:
            continue
        yield from (_on_white(colour) for colour in found)


def _on_white(colour) -> tuple:
    *parts, alpha = to_rgba(colour)
    return tuple(alpha * part + 1 - alpha for part in parts)


def _belongs(colour: tuple) -> bool:
    """Whether a colour is a grey, or a shade between white and a colour of the palette."""
    if max(colour) - min(colour) < 0.02:
        return True
    dark = 1 - np.array(colour)
    for meant in COLOURS.values():
        full = 1 - np.array(to_rgb(meant))
        share = dark @ full / (full @ full)
        if share < 1.02 and np.abs(dark - share * full).max() < 0.03:
            return True
    return False


def _has_script(words: str) -> bool:
    return words.count("$") > 1 and ("^" in words or "_" in words)


def _name(text: Text) -> str:
    return repr(" ".join(text.get_text().split()))
