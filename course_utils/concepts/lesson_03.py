"""Lesson 03 in pictures: what a log line sums up, and where float formats underflow."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from course_utils.concepts.diagram import arrow, note, sheet
from course_utils.shown import plotting
from course_utils.shown.plotting import COLOURS, INK, tint

LEFT, RIGHT = 1.6, 8.4  # where the time line begins and ends, in inches
DECADES = (-10.4, -4.3)  # of the number line, from left to right
REPORTED = ("loss 1.19e+34, grad_norm nan", "loss 0, grad_norm nan")  # trl#2367


def log_lines(*, logging_steps: int = 25, accumulation_steps: int = 32) -> None:
    """Draw how two log lines arise: micro-batches, optimizer steps, and a sum of losses."""
    ax = sheet(8.6, 3.6)
    step = (RIGHT - LEFT) / (2 * logging_steps)
    _strip(ax, 3.1, accumulation_steps, until=RIGHT - 1.2)
    for below, above in ((LEFT, LEFT), (LEFT + step, RIGHT - 1.2)):
        ax.plot([below, above], [2.68, 3.1], color=COLOURS["neutral"], linewidth=0.8, ls=":")
    _strip(ax, 2.42, 2 * logging_steps, until=RIGHT)
    for middle, text in (
        (3.23, f"{accumulation_steps} micro-batches:\none optimizer step"),
        (2.55, f"{logging_steps} steps:\none log line"),
        (1.65, "sum of\nthe losses"),
        (0.72, "healthy log"),
        (0.3, "reported log"),
    ):
        note(ax, (0.1, middle), text, ha="left", color=INK)
    for window, reported in enumerate(REPORTED):
        start = LEFT + window * logging_steps * step
        _window(ax, start, start + logging_steps * step, logging_steps, reported)
    note(ax, (LEFT + logging_steps * step + 0.12, 1.95), "logged, then set to 0", ha="left")
    healthy = math.log(2)
    plotting.show(
        ax.figure,
        f"A log line is a sum: {logging_steps} losses near ln 2 make "
        f"{logging_steps * healthy:.1f}, and divided by {logging_steps} again {healthy:.2f}. "
        "Then it starts again at 0.",
        alt=f"A time line of two log lines. {accumulation_steps} micro-batches are one optimizer "
        f"step, {logging_steps} steps one log line. The sum of the losses rises evenly to "
        f"{logging_steps * healthy:.1f}, is logged as {healthy:.2f}, falls to 0 and rises again. "
        f"Reported at the two lines instead: {REPORTED[0]}; then {REPORTED[1]}.",
    )


def _strip(ax: Axes, bottom: float, num: int, *, until: float) -> None:
    """A row of `num` equal fields from the left end of the time line."""
    width, look = (until - LEFT) / num, {"edgecolor": COLOURS["neutral"], "linewidth": 0.8}
    for place in range(num):
        corner = LEFT + place * width, bottom
        ax.add_patch(Rectangle(corner, width, 0.26, facecolor=tint("neutral"), **look))


def _window(ax: Axes, start: float, end: float, steps: int, reported: str) -> None:
    """The sum of a healthy run up to one log line, and what is logged there."""
    base, top, healthy = 1.25, 2.1, math.log(2)
    look = {"facecolor": tint("alive", 0.25), "edgecolor": COLOURS["alive"]}
    ax.add_patch(Polygon([(start, base), (end, base), (end, top)], **look))
    note(ax, (end - 0.1, base + 0.17), f"{steps * healthy:.1f}", ha="right", color=INK)
    arrow(ax, (end - 0.25, base), (end - 0.25, 0.85), meaning="alive")
    note(ax, (end - 0.35, base - 0.2), f"divided by {steps}", ha="right", meaning="alive")
    ax.plot([end, end], [0.15, 2.75], color=INK, linewidth=1.2)
    note(ax, (end - 0.1, 0.72), f"loss {healthy:.2f}", ha="right", meaning="alive")
    note(ax, (end - 0.1, 0.3), reported, ha="right", meaning="dead")


def compound_interest(curves: dict[str, list[float]]) -> None:
    """Draw the logged value after each step of a window, for each name, and after its log line."""
    num, grey = len(next(iter(curves.values()))), COLOURS["neutral"]
    meanings = {name: "dead" if curve[-1] > 1 else "suspicious" for name, curve in curves.items()}
    fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    plotting.draw_curves(ax, range(1, num + 1), curves, meanings=meanings)
    ax.plot([num, 1.2 * num], [0, 0], color=grey, label="after the log line")
    plotting.draw_limit(ax, num, "log line", axis="x")
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set(yticks=[0, 1, 1e8, 1e16, 1e24, 1e32], ylim=(-0.1, 1e38))
    ax.set(xlabel="optimizer step", ylabel="sum / steps")
    ax.set_title("The number grows like compound interest, then it is 0")
    ends = [f"{curve[-1]:.2g} with {name}" for name, curve in curves.items()]
    plotting.show(
        fig,
        f"The log line after {num} steps reads {', '.join(ends)}: one dead model. "
        "It sets the sum to 0, and everything after it adds 0.",
    )


def small_side(gradients: Sequence[float] = (0.1, 0.01, 0.004), *, eps: float = 1e-8) -> None:
    """A number line in decades: AdamW's first v for each gradient, and eps, in three formats."""
    ax = sheet(8.6, 2.9)
    v = {f"v of g = {g:g}": 0.001 * g * g for g in gradients}
    for name, number in v.items():
        ax.plot([_at(number)] * 2, [0.9, 2.45], color=COLOURS["neutral"], linewidth=0.8)
        note(ax, (_at(number), 2.6), name.removeprefix("v of "), color=INK)
    ax.plot([_at(eps)] * 2, [0.85, 2.25], color=COLOURS["neutral"], linewidth=0.8)
    note(ax, (_at(eps), 0.7), f"eps = {eps:g}", color=INK)
    note(ax, (0.1, 2.6), "v = 0.001 g²", ha="left", color=INK)
    for row, name in enumerate(("float32", "bfloat16", "float16")):
        lost = _format(ax, name, 2.05 - 0.45 * row, v | {"eps": eps})
    _decades(ax, 0.45)
    smallest, kept = _smallest(torch.float16), [name for name in v if name not in lost]
    plotting.show(
        ax.figure,
        f"The smallest number of float16 is {smallest:.0e}. In that format alone, "
        f"{', '.join(lost[:-1])} and {lost[-1]} round to 0.",
        alt="A number line in decades with a bar for each format. The bars of float32 and bfloat16 "
        f"go on to the left; that of float16 begins at {smallest:.0e}. Crosses left of it: "
        f"{', '.join(lost)}. Points on all three bars: {', '.join(kept)}.",
    )


def _format(ax: Axes, name: str, y: float, numbers: dict[str, float]) -> list[str]:
    """The bar of one format, with a mark per number; returns the names of those it loses."""
    dtype = getattr(torch, name)
    smallest, lost = _smallest(dtype), []
    begins = max(LEFT, _at(smallest))
    look = {"facecolor": tint("alive", 0.25), "edgecolor": "none"}
    ax.add_patch(Rectangle((begins, y - 0.13), RIGHT - begins, 0.26, **look))
    note(ax, (0.1, y), name, ha="left", color=INK)
    if begins == LEFT:
        note(ax, (LEFT + 0.08, y), f"← to {smallest:.0e}", ha="left", color=INK)
    else:
        note(ax, (begins, y - 0.3), f"{smallest:.0e}", ha="right", color=INK)
        note(ax, (LEFT + 0.08, y), "rounds to 0", ha="left", meaning="dead")
    for number_name, number in numbers.items():
        kept = bool(torch.tensor(number, dtype=dtype))
        lost += [] if kept else [number_name]
        mark = {"marker": "o" if kept else "x", "markersize": 7, "markeredgewidth": 2}
        ax.plot(_at(number), y, color=COLOURS["alive" if kept else "dead"], **mark)
    return lost


def _smallest(dtype: torch.dtype) -> float:
    """The smallest number above 0."""
    return torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps


def _at(number: float) -> float:
    """Where a number stands on the line, in inches."""
    low, high = DECADES
    return LEFT + (math.log10(number) - low) / (high - low) * (RIGHT - LEFT)


def _decades(ax: Axes, y: float) -> None:
    ax.plot([LEFT, RIGHT], [y, y], color=INK, linewidth=1)
    for decade in range(math.ceil(DECADES[0]), math.floor(DECADES[1]) + 1):
        ax.plot([_at(10.0**decade)] * 2, [y, y - 0.06], color=INK, linewidth=1)
        note(ax, (_at(10.0**decade), y - 0.2), f"1e{decade:+03d}", color=INK)
