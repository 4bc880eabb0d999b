"""Lesson 06 in a picture: what backward() needs of the loss. Flags are read from a real graph."""

import torch
from torch import Tensor

from course_utils.concepts.diagram import Box, arrow, box, note, sheet
from course_utils.shown import plotting
from course_utils.shown.figures.colours import COLOURS, INK

WIDTH, HEIGHT = 8.2, 2.3  # inches
BOX, COLUMNS = {"width": 1.94, "height": 0.62}, (1.98, 4.6, 7.22)
HEALTHY, REPORT = 1.55, 0.42  # heights of the two rows


def walk_back() -> None:
    """Draw the walk of backward() through a healthy graph, and the loss of the report."""
    weight = torch.ones(2, 2, requires_grad=True)
    hidden = torch.ones(1, 2) @ weight
    healthy = {"a weight": weight, "an activation": hidden, "the loss": hidden.sum()}
    loss = torch.tensor(0.7)
    ax = sheet(WIDTH, HEIGHT)
    bold = {"meaning": "neutral", "ha": "left", "weight": "bold"}
    note(ax, (0.05, HEALTHY), "a healthy\nstep", **bold)
    note(ax, (0.05, REPORT), "the report", **bold)
    sound = [
        box(ax, (x, HEALTHY), _facts(tensor), meaning="alive", filled=True, **BOX)
        for x, tensor in zip(COLUMNS, healthy.values(), strict=True)
    ]
    for x, name in zip(COLUMNS, healthy, strict=True):
        note(ax, (x, HEALTHY + 0.47), name, color=INK, weight="bold")
    unknown = [box(ax, (x, REPORT), "?", **BOX) for x in COLUMNS[:2]]
    broken = box(ax, (COLUMNS[2], REPORT), _facts(loss), meaning="dead", filled=True, **BOX)
    for after, before in ((sound[1], sound[0]), (sound[2], sound[1])):
        _draw_way_back(ax, after, before, "alive")
    _draw_way_back(ax, broken, unknown[1], "dead")
    plotting.show(ax.figure, _caption(loss), alt=_alt(healthy, loss))


def _draw_way_back(ax, after: Box, before: Box, meaning: str) -> None:
    line = {"alive": "-", "dead": ":"}[meaning]
    arrow(ax, after.left, before.right, meaning=meaning, linestyle=line, linewidth=1.8)
    middle, y = (after.left[0] + before.right[0]) / 2, after.y
    note(ax, (middle, y + 0.2), "backward", meaning=meaning)
    if meaning == "dead":
        ax.plot(middle, y, "x", color=COLOURS["dead"], markersize=11, markeredgewidth=2.2)


def _facts(tensor: Tensor, between: str = "\n") -> str:
    made_by = type(tensor.grad_fn).__name__ if tensor.grad_fn else None
    return f"requires_grad {tensor.requires_grad}{between}grad_fn {made_by}"


def _caption(loss: Tensor) -> str:
    try:
        loss.backward()
    except RuntimeError as error:
        said = str(error).splitlines()[0]
    return (
        "backward() starts at the loss, its element 0, and walks from grad_fn to grad_fn. In the "
        f"report it cannot start, as the message says: {said}."
    )


def _alt(healthy: dict[str, Tensor], loss: Tensor) -> str:
    chain = "; ".join(f"{name}, {_facts(tensor, ', ')}" for name, tensor in healthy.items())
    return (
        f"Two rows of boxes. A healthy step: {chain}. Arrows called backward lead from the loss to "
        "the activation and on to the weight. The report: two boxes with question marks, then the "
        f"loss, {_facts(loss, ', ')}; the arrow back from it is crossed out."
    )
