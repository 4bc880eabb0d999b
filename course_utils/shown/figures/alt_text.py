"""Describes a figure in sentences, for readers who cannot see it. Draws nothing."""

import math
from collections import Counter

from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

MAX_NOTES, MAX_ROWS = 12, 12


def describe(fig: Figure) -> str:
    """Describe `fig`, axes by axes: curves, bars, tables of words, limits, other words.

    >>> fig = Figure()
    >>> ax = fig.subplots()
    >>> _ = ax.plot([0, 1, 2], [2, 3, float("nan")], label="loss")
    >>> _ = ax.set(xlabel="step", ylabel="nats", title="It rises")
    >>> describe(fig)
    'It rises. Curves of nats over step, 0 to 2. loss: 2 at 0, then 3 at 1; 1 of 3 not finite.'
    """
    fig.draw_without_rendering()  # ticks have no words before
    parts = [] if fig.get_suptitle() == "" else [f"{fig.get_suptitle()}."]
    return " ".join([*parts, *(_axes(ax) for ax in fig.axes if ax.get_visible())]).strip()


def _axes(ax: Axes) -> str:
    seen = [*_curves(ax), *_bars(ax), *_table(ax), *_image(ax), *_limits(ax)]
    if ax.get_label():  # whoever drew it has said it
        seen = [ax.get_label()]
    else:
        seen += _notes(ax, already=" ".join(seen))
    title = ax.get_title().replace("\n", " ")
    return " ".join([*([f"{title}."] if title else []), *seen])


def _curves(ax: Axes):
    curves = [line for line in ax.lines if _is_curve(line)]
    if not curves:
        return
    across = [float(x) for line in curves for x in line.get_xdata() if math.isfinite(x)]
    shared = ax.get_shared_y_axes().get_siblings(ax)
    y = next((label for each in shared if (label := each.get_ylabel())), "y")
    x = ax.get_xlabel() or "x"
    scale = ", on a log scale," if "log" in ax.get_yscale() else ""
    yield f"Curves of {y}{scale} over {x}, {min(across):.3g} to {max(across):.3g}."
    for number, line in enumerate(curves, 1):
        yield _curve(_label(line) or f"curve {number}", line)


def _curve(name: str, line: Line2D) -> str:
    points = [(float(x), float(y) + 0.0) for x, y in zip(*line.get_data(), strict=True)]  # no -0
    there = [(x, y) for x, y in points if math.isfinite(y)]
    lost = len(points) - len(there)
    ending = f"; {lost} of {len(points)} not finite" if lost else ""
    if not there:
        return f"{name}: nothing to see{ending}."
    (first_x, first), (last_x, last) = there[0], there[-1]
    low, high = min(y for _, y in there), max(y for _, y in there)
    way = f"{name}: {first:.3g} at {first_x:.3g}"
    if len(there) > 1:
        way += f", then {last:.3g} at {last_x:.3g}"
    if low < min(first, last):
        way += f", lowest {low:.3g}"
    if high > max(first, last):
        way += f", highest {high:.3g}"
    return f"{way}{ending}."


def _bars(ax: Axes):
    for bars in (b for b in ax.containers if isinstance(b, BarContainer)):
        is_across = bars.orientation == "horizontal"
        names = _tick_names(ax.yaxis if is_across else ax.xaxis)
        of = (ax.get_xlabel() if is_across else ax.get_ylabel()) or "length"
        found = []
        for bar, number in zip(bars, bars.datavalues, strict=True):
            side = (bar.get_y() + bar.get_height() / 2, bar.get_x() + bar.get_width() / 2)
            found.append(f"{names.get(round(side[not is_across], 6), 'bar')} {number:.3g}")
        yield f"Bars of {of}: {', '.join(found)}."


def _table(ax: Axes):
    rows, columns = _tick_names(ax.yaxis), _tick_names(ax.xaxis)
    words = {(round(t.get_position()[1], 6), round(t.get_position()[0], 6)): t for t in ax.texts}
    table = {y: [words[y, x].get_text() for x in columns if (y, x) in words] for y in rows}
    if not ax.images or sum(map(len, table.values())) < len(rows) * len(columns):
        return
    counts = Counter(word for row in table.values() for word in row)
    said = ", ".join(f"{number} {word}" for word, number in counts.items())
    yield f"A table of {len(rows)} rows by {len(columns)} columns: {said}."
    if len(rows) <= MAX_ROWS:
        yield f"Columns: {', '.join(columns.values())}."
        yield " ".join(f"{rows[y]}: {', '.join(found)}." for y, found in table.items())


def _image(ax: Axes):
    for image in ax.images:
        values = image.get_array()
        if values.ndim == 2:
            height, width = values.shape
            span = f"{values.min():.3g} to {values.max():.3g}"
            yield f"A field of {height} by {width} values, {span}."


def _limits(ax: Axes):
    for line in ax.lines:
        if not _is_curve(line) and _label(line):
            yield f"A line marks {_label(line)}."


def _notes(ax: Axes, *, already: str):
    words = dict.fromkeys(
        " ".join(text.get_text().split()) for text in ax.texts if not text.get_gid()
    )
    new = [word for word in words if word and word not in already][:MAX_NOTES]
    return [f"Words: {', '.join(new)}."] if new else []


def _is_curve(line: Line2D) -> bool:
    """Whether a line is data: not a line across the axes at one value, nor the marks on a curve."""
    in_data = all(line.get_transform().contains_branch_seperately(line.axes.transData))
    return in_data and len(line.get_xdata()) > 0 and line.get_label() != "_breaks"


def _label(line: Line2D) -> str:
    return "" if line.get_label().startswith("_") else line.get_label()


def _tick_names(axis) -> dict[float, str]:
    low, high = sorted(axis.get_view_interval())
    places = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
    return {round(float(at), 6): name.get_text() for at, name in places if low <= at <= high}
