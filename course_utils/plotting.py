"""Figures whose titles are findings and whose curves cannot hide a NaN.

Draws on axes it is given; never trains, never saves, never shows a figure twice.
"""

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from course_utils.picture import Picture, describe

# The Okabe-Ito colours with contrast of at least 3:1 on white. Colour is never the only cue.
STYLES = (
    {"color": "#0072B2", "linestyle": "-"},  # blue
    {"color": "#D55E00", "linestyle": "--"},  # vermillion
    {"color": "#009E73", "linestyle": "-."},  # green
    {"color": "#CC79A7", "linestyle": ":"},  # purple
)
GREY = "#666666"
# What a word in a grid means; pale, so that the word on it can be read.
MEANINGS = {"alive": "#a6cfe6", "dead": "#f2bf99", "suspicious": "#ecd1e0"}


def draw_curves(ax: Axes, x, curves: dict[str, object]) -> None:
    """Draw up to four curves over `x` (N numbers), each named to the right of its end.

    A name never covers a curve: that of a curve which reaches the last x stands outside the axes.
    A curve stops with a cross at its last finite value, and its name says how many values were
    lost, so that a broken curve looks broken. matplotlib alone leaves a silent gap.

    Raises:
        ValueError: more curves than styles, or a curve with no finite value.
    """
    import numpy as np  # heavy, and only needed once something is drawn

    x = np.asarray(x, dtype=float)
    for style, (name, values) in zip(STYLES[: len(curves)], curves.items(), strict=True):
        y = np.asarray(values, dtype=float)
        finite = np.isfinite(y)
        num_lost = int((~finite).sum())
        if num_lost == len(y):
            raise ValueError(f"curve {name!r} has no finite value to draw; print it instead")
        last = (x[finite][-1], y[finite][-1])
        ax.plot(x[finite], y[finite], **style)
        ax.plot(*last, marker="x" if num_lost else "", color=style["color"])
        label = f"{name} ({num_lost} of {len(y)} not finite)" if num_lost else name
        ax.annotate(
            label,
            last,
            (6, 0),
            textcoords="offset points",
            va="center",
            color=style["color"],
            annotation_clip=False,
        )
    ax.margins(x=0.01, y=0.15)


def draw_limit(ax: Axes, value: float, label: str) -> None:
    """Draw a horizontal grey line at a format's limit, named at its left end."""
    ax.axhline(value, color=GREY, linewidth=1)
    ax.annotate(
        label,
        (0.01, value),
        (0, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        color=GREY,
    )


def draw_grid(
    ax: Axes,
    *,
    rows: list[str],
    columns: list[str],
    texts: list[list[str]],
    good: str = "healthy",
    meanings: dict[str, str] | None = None,
) -> None:
    """Draw a table of words, one colour for each different word; the `good` one is green.

    Args:
        meanings: for each word a key of `MEANINGS`; words of one meaning then share its colour.
    """
    red, blue, green, *others = plt.get_cmap("Pastel1").colors
    words = sorted({word for row in texts for word in row} - {good})
    colours = dict(zip(words, (red, blue, *others), strict=False)) | {good: green}
    if meanings:
        colours = {word: to_rgb(MEANINGS[meaning]) for word, meaning in meanings.items()}
    ax.imshow([[colours[word] for word in row] for row in texts], aspect="auto")
    for y, row in enumerate(texts):
        for x, word in enumerate(row):
            ax.text(x, y, word, ha="center", va="center")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)


def draw_chains(ax: Axes, chains: dict[str, list[tuple[str, str, bool]]]) -> None:
    """Draw chains of stages side by side, each from bottom to top, as a backward pass meets them.

    Args:
        chains: for each title, stages as (name, what its weights get, joined): a stage that is
            joined has a solid arrow from the next one down to it, any other a cross.
    """
    fills = {"gradient": "#cfe8dd", "no gradient": "#f7d3bd", "frozen": "#eeeeee"}
    for x, (title, stages) in enumerate(chains.items()):
        for y, (name, weights, joined) in enumerate(stages):
            box = {"facecolor": fills[weights], "edgecolor": GREY, "boxstyle": "round"}
            ax.text(x, y, f"{name}\n{weights}", ha="center", va="center", bbox=box, fontsize=10)
            if joined:
                arrow = {"arrowstyle": "->", "color": STYLES[0]["color"], "linewidth": 1.5}
                ax.annotate("", (x, y + 0.33), (x, y + 0.7), arrowprops=arrow)
            else:
                ax.text(x, y + 0.5, "x", ha="center", va="center", color=STYLES[1]["color"])
        ax.text(x, len(stages), "loss", ha="center", va="center", fontsize=10)
        ax.text(x, len(stages) + 0.6, title, ha="center", va="center", weight="bold", fontsize=11)
    ax.set_xlim(-0.6, len(chains) - 0.4)
    ax.set_ylim(-0.6, max(map(len, chains.values())) + 1)
    ax.set_axis_off()


def show(fig: Figure, caption: str, *, alt: str = "") -> None:
    """Display `fig` once, with `caption` under it, and close it.

    Args:
        caption: one or two sentences that say what it means, with numbers taken from the data.
        alt: what is seen, for those who cannot see it; by default read off the axes.
    """
    display(Picture(fig, caption=caption, alt=alt or describe(fig)))
    plt.close(fig)
