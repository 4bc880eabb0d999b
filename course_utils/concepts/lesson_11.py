"""Lesson 11 in pictures: four logs, four stages, and one adapter at several sizes.

What it draws, it is given.
"""

import matplotlib.pyplot as plt

from course_utils.shown import plotting
from course_utils.shown.figures.colours import tint

GOOD = 0.5  # a share of right completions from which on a model counts as trained here


def four_losses(losses: dict[str, list[float]]) -> None:
    """Draw the loss of each training job over its share of steps."""
    fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for style, (name, curve) in zip(plotting.LINES, losses.items(), strict=True):
        share = [100 * step / (len(curve) - 1) for step in range(len(curve))]
        plotting.draw_curves(ax, share, {name: _smooth(curve)}, meanings={name: "alive"})
        next(line for line in ax.lines if line.get_label() == name).set_linestyle(style)
    ax.set(xlabel="% of the steps", ylabel="loss, nats per token")
    ax.set_title("Four training losses fall")
    ends = (f"{name} {c[0]:.1f} to {c[-1]:.2f}" for name, c in losses.items())
    plotting.show(fig, f"The loss of each job, mean of five steps: {', '.join(ends)}.")


def _smooth(curve: list[float], width: int = 5) -> list[float]:
    cuts = (curve[max(0, at - width + 1) : at + 1] for at in range(len(curve)))
    return [sum(cut) / len(cut) for cut in cuts]


def stages(shares: dict[str, dict[str, float]], title: str = "") -> None:
    """Draw the share of right completions of each job (row) at each stage (column).

    The title is the first stage at which each job is mostly wrong, if no other is given.
    """
    columns = list(next(iter(shares.values())))
    texts = [[f"{share:.0%}" for share in row.values()] for row in shares.values()]
    good = {f"{s:.0%}": "alive" for row in shares.values() for s in row.values() if s > GOOD}
    bad = {f"{s:.0%}": "dead" for row in shares.values() for s in row.values() if s <= GOOD}
    fig, ax = plt.subplots(figsize=(7, 0.6 + 0.45 * len(shares)), layout="constrained")
    plotting.draw_grid(ax, rows=list(shares), columns=columns, texts=texts, meanings=good | bad)
    ax.set_title(title or f"First mostly wrong: {', '.join(map(_first_wrong, shares.items()))}")
    said = (f"{name} {' '.join(row)}" for name, row in zip(shares, texts, strict=True))
    plotting.show(fig, f"Right held-out completions, {', '.join(columns)}: {'; '.join(said)}.")


def _first_wrong(job: tuple[str, dict[str, float]]) -> str:
    """The name of a job, and the first stage at which it is mostly wrong.

    >>> _first_wrong(("B", {"live": 1.0, "merged": 0.02, "served": 0.02}))
    'B merged'
    """
    name, row = job
    return f"{name} {next((stage for stage, share in row.items() if share <= GOOD), 'nowhere')}"


def offsets(shares: dict[str, dict[str, float]]) -> None:
    """Draw how far completions are from a+b, for one adapter served at several sizes (rows)."""
    columns = ["-1", "+0", "+1", "+2", "+3", "other"]
    fig, ax = plt.subplots(figsize=(7, 0.8 + 0.36 * len(shares)), layout="constrained")
    texts = [[f"{row.get(c, 0):.0%}" for c in columns] for row in shares.values()]
    plotting.draw_grid(ax, rows=list(shares), columns=columns, texts=texts, meanings={})
    for y, row in enumerate(shares.values()):
        for x, column in enumerate(columns):
            if row.get(column, 0) > GOOD:
                box = plt.Rectangle((x - 0.5, y - 0.5), 1, 1, color=tint("suspicious"), zorder=0)
                ax.add_patch(box)
    ax.set_title("An adapter that adds 1 adds 2 at twice its size, and mostly 3 at three times")
    most = (f"{k}: {max(row, key=row.get)}" for k, row in shares.items())
    plotting.show(fig, f"The most frequent completion at each size, from a+b: {', '.join(most)}.")
