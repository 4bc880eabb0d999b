"""Lesson 08 in pictures: each row's share of the gradient, and which loss types drive lengths.

What it draws, it is given.
"""

import matplotlib.pyplot as plt
from torch import Tensor

from course_utils.shown import plotting
from course_utils.shown.figures.colours import tint

LONG = 20  # targets from which on a row counts as long here


def who_is_heard(counts: list[int]) -> None:
    """Draw each row's share of the gradient under both means, long rows first.

    Args:
        counts: targets of each row.
    """
    order = sorted(counts, reverse=True)
    shares = {
        "token mean": [count / sum(order) for count in order],
        "mean of means": [1 / len(order) for _ in order],
    }
    fig, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
    num_long = sum(count >= LONG for count in order)
    parts = {}
    for y, (name, row) in enumerate(reversed(shares.items())):
        _bar(ax, y, row, num_long)
        parts[name] = (sum(row[:num_long]), sum(row[num_long:]))
        ends = ((parts[name][0] / 2, "long"), (1 - parts[name][1] / 2, "short"))
        for (at, kind), share in zip(ends, parts[name], strict=True):
            ax.text(
                at, y + 0.3, f"{kind} {share:.0%}", ha="center", va="bottom", color=plotting.INK
            )
    ax.set_yticks(range(len(shares)), list(reversed(shares)))
    ax.set(
        xlim=(0, 1),
        ylim=(-0.4, 1.75),
        xlabel="share of the step's weight",
        title="How much each row counts in the two means",
    )
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    short = {name: f"{part[1]:.0%}" for name, part in parts.items()}
    plotting.show(
        fig,
        f"{len(order) - num_long} short rows hold {short['token mean']} of the tokens, and get "
        f"{short['mean of means']} of the weight in a mean of means.",
        alt=f"Two bars, each of {len(order)} rows. In the token mean the {num_long} long rows fill "
        "nearly all of it; in the mean of means all rows are equally wide.",
    )


def _bar(ax, y: int, row: list[float], num_long: int) -> None:
    left = 0.0
    for at, share in enumerate(row):
        colour = tint("neutral" if at < num_long else "suspicious")
        ax.barh(y, share, left=left, height=0.5, color=colour, edgecolor="white")
        left += share


def a_gap_for_each_seed(gaps: dict[str, Tensor]) -> None:
    """Draw a dot per seed in a row per loss type.

    Args:
        gaps: tail of right replies minus that of wrong ones, in tokens, shape (seeds,) each.
    """
    fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
    said, one_sign = [], []
    for y, (name, gap) in enumerate(gaps.items()):
        has_one_sign = bool((gap < 0).all() or (gap > 0).all())
        one_sign += [name] * has_one_sign
        colour = plotting.COLOURS["suspicious" if has_one_sign else "alive"]
        ax.plot(gap, [y] * len(gap), "o", markersize=7, fillstyle="none", color=colour)
        said.append(f"{name} {gap.min():.0f} to {gap.max():.0f}")
    ax.axvline(0, color=plotting.INK, linewidth=1)
    ax.set_yticks(range(len(gaps)), list(gaps))
    ax.invert_yaxis()
    ax.margins(x=0.1, y=0.2)
    title = f"One sign in every seed: {', '.join(one_sign) or 'none'}"
    ax.set(xlabel="right minus wrong, tokens", title=title)
    num_seeds = len(next(iter(gaps.values())))
    plotting.show(
        fig,
        f"Right minus wrong, {num_seeds} seeds: {', '.join(said)} tokens.",
        alt=f"A dot for each of {num_seeds} seeds on a line of tokens: {', '.join(said)}; 0 is "
        "marked.",
    )
