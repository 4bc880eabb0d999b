"""What a clamp after exp does to the gradient, in each float format, as d grows."""

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from course_utils.shown import plotting
from course_utils.shown.figures.colours import INK, tint
from course_utils.shown.figures.picture import Picture

MIXED = ("float16", "bfloat16", "float32")
BOUND = 10.0  # what the published loss clamps k3 to


def draw_overflow(d: float) -> Picture:
    """Bands over the log-ratio for each format: the gradient lives, is 0, is nan."""
    fig, ax = plt.subplots(figsize=(8.8, 2.9), layout="constrained")
    grid = torch.arange(0, 100.5, 0.5, dtype=torch.float64)
    said = []
    for row, name in enumerate(MIXED):
        _draw_bands(ax, row, grid, clamped_gradient(grid, name)[1], d)
        value, gradient = clamped_gradient(torch.tensor([d], dtype=torch.float64), name)
        exp = torch.tensor(d, dtype=getattr(torch, name)).exp().item()
        said.append(f"{name}: exp {exp:.3g}, loss {value.item():g}, gradient {gradient.item():.3g}")
        ax.text(103, row, said[-1].partition(": ")[2].replace(", l", "\nl"), va="center", color=INK)
    ax.axvline(d, color=INK, linewidth=1.5)
    ax.set_yticks(range(len(MIXED)), MIXED)
    ax.set(ylim=(len(MIXED) - 0.5, -0.9), xlim=(0, 150), xticks=range(0, 101, 20))
    ax.set_xlabel("log-ratio d (nats)", loc="left")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.text(d, -0.65, f"  d = {d:g}  ", ha="left" if d < 50 else "right", color=INK)
    return plotting.picture_of(
        fig,
        f"min(exp(d) - d - 1, {BOUND:g}) and its gradient at d = {d:g}. {'; '.join(said)}. "
        "In the short parts at the left the gradient is exp(d) - 1.",
        alt="A band for each format over d from 0 to 100, in up to three parts: where the gradient "
        f"follows exp, where it is 0, and, once exp overflows, nan. At d = {d:g}: "
        f"{'; '.join(said)}.",
    )


def clamped_gradient(d: torch.Tensor, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Value and gradient of k3 clamped after its exp, at each d (N), computed in `dtype`."""
    d = d.to(getattr(torch, dtype)).requires_grad_()
    value = (d.exp() - d - 1).clamp(max=BOUND)
    (gradient,) = torch.autograd.grad(value.sum(), d)
    return value.detach(), gradient


def _draw_bands(ax: Axes, row: int, grid: torch.Tensor, gradient: torch.Tensor, d: float) -> None:
    """Parts of one band, by what the gradient is there; their words keep away from `d`."""
    kinds = {
        "alive": ("", (gradient != 0) & gradient.isfinite() | (grid == 0)),
        "suspicious": ("gradient 0", (gradient == 0) & (grid > 0)),
        "dead": ("gradient nan", gradient.isnan()),
    }
    step = (grid[1] - grid[0]).item()
    for meaning, (word, is_kind) in kinds.items():
        there = grid[is_kind]
        low, width = there.min().item(), there.max().item() - there.min().item() + step
        ax.barh(row, width, 0.5, left=low, color=tint(meaning, 0.3))
        if word and width > 30:
            share = 0.25 if d > low + width / 2 else 0.75
            ax.text(low + share * width, row, word, ha="center", va="center", color=INK)
