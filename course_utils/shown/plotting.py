"""Figures whose titles are findings and whose curves cannot hide a NaN.

Draws on axes it is given; never trains, never saves, never shows a figure twice.
"""

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.shown.figures.alt_text import describe
from course_utils.shown.figures.colours import COLOURS, INK, SHADES, shading, tint
from course_utils.shown.figures.faults import refuse_faults
from course_utils.shown.figures.finish import CURVE_NAME, LIMIT_NAME, finish
from course_utils.shown.figures.picture import Picture
from course_utils.shown.figures.strict import is_strict

__all__ = [
    "COLOURS",
    "INK",
    "draw_bars",
    "draw_chains",
    "draw_curves",
    "draw_grid",
    "draw_limit",
    "picture_of",
    "shading",
    "show",
    "tint",
]

LINES = ("-", "--", "-.", ":")


def draw_curves(
    ax: Axes, x, curves: dict[str, object], *, meanings: dict[str, str] | None = None
) -> None:
    """Draw up to four curves over `x` (N numbers), each named at its end.

    Every curve has its own line style. A cross stands wherever the next value is not finite,
    and the name says how many were lost, so that a broken curve looks broken. matplotlib alone
    leaves a silent gap. `show` finds a place for each name that covers nothing.

    Args:
        meanings: for the name of a curve a key of `COLOURS`; a curve without one is grey.

    Raises:
        ValueError: more curves than line styles, or a curve with no finite value.
    """
    meanings, shades = meanings or {}, iter(SHADES)
    if len(curves) > len(LINES):
        raise ValueError(f"{len(curves)} curves in one figure; draw at most {len(LINES)}")
    for line, (name, values) in zip(LINES, curves.items(), strict=False):
        colour = COLOURS[meanings[name]] if name in meanings else next(shades)
        _draw_curve(ax, x, values, name=name, color=colour, linestyle=line)
    ax.margins(x=0.01, y=0.15)


def _draw_curve(ax: Axes, x, values, *, name: str, color: str, linestyle: str) -> None:
    import numpy as np  # heavy, and only needed once something is drawn

    x, y = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    finite = np.isfinite(y)
    num_lost = int((~finite).sum())
    if num_lost == len(y):
        raise ValueError(f"curve {name!r} has no finite value to draw; print it instead")
    ax.plot(x, np.where(finite, y, np.nan), color=color, linestyle=linestyle, label=name)
    breaks = finite & ~np.append(finite[1:], True)
    ax.plot(x[breaks], y[breaks], "x", color=color, label="_breaks")
    ax.annotate(
        f"{name}\n{num_lost} of {len(y)} not finite" if num_lost else name,
        (x[finite][-1], y[finite][-1]),
        (8, 0),
        textcoords="offset points",
        va="center",
        color=color,
        annotation_clip=False,
        gid=CURVE_NAME,
    )


def draw_limit(ax: Axes, value: float, label: str, *, axis: str = "y") -> None:
    """Draw a grey line at a limit on the y axis (or the x axis), named where there is room."""
    draw = ax.axhline if axis == "y" else ax.axvline
    draw(value, color=COLOURS["neutral"], linewidth=1, label=label)
    at, coords = ((0.01, value), ("axes fraction", "data"))
    if axis == "x":
        at, coords = (value, 0.98), ("data", "axes fraction")
    ax.annotate(
        label,
        at,
        (4, 4),
        xycoords=coords,
        textcoords="offset points",
        color=COLOURS["neutral"],
        gid=LIMIT_NAME,
    )


def draw_bars(ax: Axes, bars: dict[str, float], *, meanings: dict[str, str] | None = None) -> None:
    """Draw a horizontal bar for each named number, with the number at its end.

    A number that is not finite has no bar: it is written where the bars begin.

    Args:
        meanings: for a name a key of `COLOURS`; a bar without one is neutral.
    """
    import math

    colours = [COLOURS[(meanings or {}).get(name, "neutral")] for name in bars]
    lengths = [float(number) for number in bars.values()]
    drawn = ax.barh(
        range(len(bars)), [n if math.isfinite(n) else 0 for n in lengths], 0.6, color=colours
    )
    drawn.datavalues = lengths  # for the description, which reads the numbers there
    ax.bar_label(drawn, [f"{number:.3g}" for number in lengths], padding=4, color=INK)
    ax.set_yticks(range(len(bars)), list(bars))
    ax.invert_yaxis()
    ax.margins(x=0.15)


def draw_grid(
    ax: Axes,
    *,
    rows: list[str],
    columns: list[str],
    texts: list[list[str]],
    meanings: dict[str, str],
) -> None:
    """Draw a table of words, each on a background in the colour of its meaning.

    Args:
        meanings: for each word a key of `COLOURS`; a word without one is neutral.
    """
    from matplotlib.colors import to_rgb

    grounds = [[to_rgb(tint(meanings.get(word, "neutral"))) for word in row] for row in texts]
    ax.imshow(grounds, aspect="auto")
    for y, row in enumerate(texts):
        for x, word in enumerate(row):
            ax.text(x, y, word, ha="center", va="center", color=INK)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks([x + 0.5 for x in range(len(columns) - 1)], minor=True)
    ax.set_yticks([y + 0.5 for y in range(len(rows) - 1)], minor=True)
    ax.grid(which="minor", color="white", linewidth=3)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


CHAIN_MEANINGS = {"gradient": "alive", "no gradient": "dead", "frozen": "neutral"}


def draw_chains(ax: Axes, chains: dict[str, list[tuple[str, str, bool]]]) -> None:
    """Draw chains of stages side by side, each from bottom to top, as a backward pass meets them.

    Args:
        chains: for each title, stages as (name, what its weights get, joined): a stage that is
            joined has a solid arrow from the next one down to it, any other a cross, which is
            red where a weight below it waits for a gradient.
    """
    for x, (title, stages) in enumerate(chains.items()):
        for y, stage in enumerate(stages):
            waits = any(weights == "no gradient" for _, weights, _ in stages[: y + 1])
            _draw_stage(ax, x, y, *stage, cut="dead" if waits else "neutral")
        ax.text(x, len(stages), "loss", ha="center", va="center", color=INK)
        ax.text(x, len(stages) + 0.6, title, ha="center", va="center", weight="bold", color=INK)
    ax.set_xlim(-0.6, len(chains) - 0.4)
    ax.set_ylim(-0.6, max(map(len, chains.values())) + 1)
    ax.set_axis_off()
    ax.set_label(" ".join(_say_chain(title, stages) for title, stages in chains.items()))


def _draw_stage(
    ax: Axes, x: int, y: int, name: str, weights: str, joined: bool, *, cut: str
) -> None:
    meaning = CHAIN_MEANINGS[weights]
    box = {"facecolor": tint(meaning), "edgecolor": COLOURS[meaning], "boxstyle": "round"}
    ax.text(x, y, f"{name}\n{weights}", ha="center", va="center", bbox=box, color=INK)
    if joined:
        arrow = {"arrowstyle": "->", "color": COLOURS["alive"], "linewidth": 1.5}
        ax.annotate("", (x, y + 0.33), (x, y + 0.7), arrowprops=arrow)
    else:
        ax.text(x, y + 0.5, "x", ha="center", va="center", color=COLOURS[cut], weight="bold")


def _say_chain(title: str, stages: list[tuple[str, str, bool]]) -> str:
    backwards = stages[::-1]
    num_reached = [joined for _, _, joined in [*backwards, ("", "", False)]].index(False)
    names = [name for name, _, _ in backwards]
    reached = ", ".join(names[:num_reached]) or "nothing"
    rest = ", ".join(names[num_reached:]) or "nothing"
    starved = ", ".join(name for name, weights, _ in backwards if weights == "no gradient")
    without = f"; weights without a gradient: {starved}" if starved else ""
    return f"{title}: backwards from the loss {reached}; then cut off: {rest}{without}."


def show(fig: Figure, caption: str, *, alt: str = "") -> None:
    """Display `fig` once, with `caption` under it, and close it.

    Args:
        caption: one or two sentences that say what it means, with numbers taken from the data.
        alt: what is seen, for those who cannot see it; by default read off the axes.

    Raises:
        FigureFault: something in it cannot be read, where the course itself is built or tested.
    """
    display(picture_of(fig, caption, alt=alt))


def picture_of(fig: Figure, caption: str, *, alt: str = "") -> Picture:
    """What `show` displays."""
    finish(fig)
    if is_strict():
        refuse_faults(fig)
    picture = Picture(fig, caption=caption, alt=alt or describe(fig))
    plt.close(fig)
    return picture
