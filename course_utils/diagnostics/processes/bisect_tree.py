"""Draws a bisection as a tree: each probe below the smallest failing set that contains it.

Draws what was probed; runs nothing.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_utils.diagnostics.processes.bisect_probe import Probe
from course_utils.shown.plotting import COLOURS

STRIDE = 1.35  # from one generation to the next; a strip is 1 wide
HIGH = 0.3  # a strip; rows are 1 apart
WORDS = {"fontsize": 9, "ha": "left"}


def draw_tree(ax: Axes, names: Sequence[str], probes: Sequence[Probe], failure: str) -> None:
    """Draw each probe as a strip: a field for every setting, filled where the dying value was on.

    Above a strip stand its number and settings, below it the outcome. A leaf of the tree needs
    0.7 inches of height.
    """
    above = parents(probes, failure)
    places = _places(above)
    for number, (probe, up) in enumerate(zip(probes, above, strict=True)):
        if up is not None:
            _join(ax, places[up], places[number])
        _strip(ax, places[number], names, probe, meaning=_meaning(probe, failure))
        x, y = places[number]
        title = f"{number + 1}: {_settings(probe, names)}"
        ax.text(x, y - HIGH / 2 - 0.06, title, va="bottom", **WORDS)
        colour = COLOURS[_meaning(probe, failure)]
        ax.text(x, y + HIGH / 2 + 0.06, probe.outcome, va="top", color=colour, **WORDS)
    right, low = (max(place[axis] for place in places) for axis in (0, 1))
    ax.set(xlim=(-0.02, right + 1.02), ylim=(low + 0.5, -0.5))
    ax.set_axis_off()


def parents(probes: Sequence[Probe], failure: str) -> list[int | None]:
    """For each probe its parent: the smallest superset that died before it.

    The control without settings comes first of all, and hangs on the control with all of them.

    >>> probes = Probe((), "lived"), Probe(("a", "b"), "SIGFPE"), Probe(("b",), "lived")
    >>> parents(probes, "SIGFPE")
    [1, None, 1]
    """
    found = []
    for number, probe in enumerate(probes):
        died = [
            n
            for n, other in enumerate(probes[: max(number, 2)])
            if other.outcome == failure and set(probe.settings) < set(other.settings)
        ]
        found.append(min(died, key=lambda n: len(probes[n].settings), default=None))
    return found


def _places(above: list[int | None]) -> list[tuple[float, float]]:
    """The place of each strip: x by its generation, y so that a parent is amid its children."""
    places: dict[int, tuple[float, float]] = {}
    rows = iter(range(len(above)))

    def place(number: int, depth: int) -> float:
        below = [place(n, depth + 1) for n, up in enumerate(above) if up == number]
        row = (below[0] + below[-1]) / 2 if below else float(next(rows))
        places[number] = depth * STRIDE, row
        return row

    for number, up in enumerate(above):
        if up is None:
            place(number, 0)
    return [places[number] for number in range(len(above))]


def _strip(ax: Axes, at: tuple, names: Sequence[str], probe: Probe, *, meaning: str) -> None:
    (x, y), width = at, 1 / len(names)
    for column, name in enumerate(names):
        fill = COLOURS[meaning] if name in probe.settings else "white"
        corner = x + column * width, y - HIGH / 2
        look = {"facecolor": fill, "edgecolor": COLOURS["neutral"], "linewidth": 0.8}
        ax.add_patch(Rectangle(corner, width, HIGH, **look))


def _join(ax: Axes, parent: tuple[float, float], child: tuple[float, float]) -> None:
    """A line around two corners, from the end of one strip to the beginning of another."""
    bend = child[0] - (STRIDE - 1) / 2
    xs, ys = (parent[0] + 1, bend, bend, child[0]), (parent[1], parent[1], child[1], child[1])
    ax.plot(xs, ys, color=COLOURS["neutral"], linewidth=1, zorder=0)


def _meaning(probe: Probe, failure: str) -> str:
    if probe.outcome == failure:
        return "dead"
    return "alive" if probe.outcome == "lived" else "suspicious"


def _settings(probe: Probe, names: Sequence[str]) -> str:
    """The settings that were on, short enough to stand above a strip."""
    rest = [name for name in names if name not in probe.settings]
    if not probe.settings or not rest:
        return f"all {len(names)}" if probe.settings else "none"
    if len(probe.settings) == 1:
        return probe.settings[0]
    return f"all but {rest[0]}" if len(rest) == 1 else f"{len(probe.settings)} settings"
