"""Lesson 05 in pictures: one layer of Gemma 3 with the formats on its arrows, and float16's limit.

Each function shows one picture. What it draws of a model, it is given.
"""

import math

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor

from course_utils.concepts.diagram import Point, box, note, path, sheet
from course_utils.numerics import float_format
from course_utils.shown import plotting

STREAM = 1.2  # where the residual stream runs down, in inches
LIMIT = float_format("float16").max
KINDS = {"inf": torch.isinf, "nan": torch.isnan}


def one_layer(tensors: dict[str, Tensor] | None = None) -> None:
    """Draw a layer of Gemma 3; with `tensors`, arrows show formats and non-finite values.

    Args:
        tensors: as `gemma_layer.tensors_in_layer` gives them; None leaves every format open.
    """
    known = tensors or {}
    ax = sheet(8.6, 4.2)
    note(ax, (STREAM, 4.07), "from the layer before", color=plotting.INK)
    note(ax, (STREAM, 0.13), "to the next layer", color=plotting.INK)
    note(ax, (STREAM + 0.14, 3.83), "residual stream", ha="left", weight="bold")
    parts = {"stream in": (3.95, 2.7, 3.05), "stream between": (2.4, 1.0, 1.35)}
    for (name, (start, end, label)), block in zip(parts.items(), ("attention", "MLP"), strict=True):
        _flow(ax, [(STREAM, start), (STREAM, end)], known.get(name), at=(STREAM, label))
        _branch(ax, end + 0.7, block, known.get(name), known)
    _flow(ax, [(STREAM, 0.7), (STREAM, 0.25)], known.get("stream out"), at=(STREAM, 0.5))
    caption, alt = _layer_in_words(known)
    plotting.show(ax.figure, caption, alt=alt)


def _branch(ax: Axes, y: float, name: str, stream: Tensor | None, known: dict) -> None:
    """A norm, the block called `name`, a norm, and the way back to the stream below."""
    before = box(ax, (2.9, y), "norm", width=0.9)
    block = box(ax, (5.0, y), name, filled=True, width=1.1)
    after = box(ax, (7.1, y), "norm", width=0.9)
    plus = y - 0.85
    _flow(ax, [(STREAM, y), before.left], stream)
    _flow(ax, [before.right, block.left], known.get(f"read by {name}"), at=(3.87, y))
    _flow(ax, [block.right, after.left], known.get(name), at=(6.07, y))
    back = [after.right, (8.0, y), (8.0, plus), (STREAM + 0.15, plus)]
    _flow(ax, back, known.get(f"added by {name}"), at=(5.0, plus))
    ax.plot(STREAM, plus, "o", markersize=17, markerfacecolor="white", color=plotting.INK)
    ax.text(STREAM, plus - 0.01, "+", ha="center", va="center", fontsize=13, color=plotting.INK)


def _flow(ax: Axes, points: list[Point], tensor: Tensor | None, *, at: Point | None = None) -> None:
    """An arrow as thick as the tensor's format is wide, with the words for it at `at`.

    Beside the stream they stand together; elsewhere the format above and the trouble below.
    """
    words = ["?"] if tensor is None else _words(tensor)
    meaning = "dead" if len(words) > 1 else "neutral"
    width = 1.4 if tensor is None else tensor.element_size() * 0.7
    path(ax, points, meaning=meaning, linewidth=width)
    if at and at[0] == STREAM:
        note(ax, (STREAM - 0.12, at[1]), "\n".join(words), ha="right", meaning=meaning)
    elif at:
        for word, above in zip(words, (0.14, -0.15), strict=False):
            note(ax, (at[0], at[1] + above), word, meaning=meaning)


def _words(tensor: Tensor) -> list[str]:
    """A tensor's format, and the larger share of non-finite values in it, if there are any."""
    shares = {word: kind(tensor).float().mean().item() for word, kind in KINDS.items()}
    word = max(shares, key=shares.get)
    trouble = [f"{shares[word]:.0%} {word}"] if shares[word] else []
    return [str(tensor.dtype).removeprefix("torch."), *trouble]


def _layer_in_words(known: dict[str, Tensor]) -> tuple[str, str]:
    """The caption and the alt text."""
    shape = (
        "A stream runs down. Twice a branch leaves it, through a norm, a block (attention, then "
        "the MLP) and a second norm, and is added to it again."
    )
    if not known:
        reads = "Attention and MLP read the residual stream and add to it, each between two norms."
        return f"{reads} Which arrows carry float16 with fp16=True is not shown yet.", shape
    bad = [name for name, tensor in known.items() if not tensor.isfinite().all()]
    first = f"{bad[0]}, {_words(known[bad[0]])[1]}" if bad else "none"
    said = "; ".join(f"{name}: {', '.join(_words(tensor))}" for name, tensor in known.items())
    stream, added = (_words(known[name])[0] for name in ("stream in", "added by attention"))
    caption = f"The stream is {stream}, what a branch adds to it is {added}."
    return f"{caption} First not finite: {first}.", f"{shape} {said}."


def against_the_limit(largest: dict[str, dict[str, list[float]]]) -> None:
    """The largest number of each place in each layer, for two models, against float16's limit.

    Args:
        largest: for "plain" and "sick", for each place, one number per layer.
    """
    places = list(largest["plain"])
    fig, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    ax.set(xscale="log", xlim=(1, 1e8), ylim=(len(places) - 0.5, -0.7))
    ax.axvspan(LIMIT, 1e8, color=plotting.tint("dead", 0.05), linewidth=0)
    ax.axvline(LIMIT, color=plotting.COLOURS["dead"], linewidth=1.2)
    note(ax, (LIMIT * 1.2, -0.5), f"beyond {LIMIT:.0f}: inf in float16", ha="left", meaning="dead")
    for row, place in enumerate(places):
        _marks(ax, row - 0.16, largest["plain"][place], "plain", "o")
        _marks(ax, row + 0.16, largest["sick"][place], "sick", "D")
    ax.set_yticks(range(len(places)), places)
    ax.set(xlabel="largest |output| in float32, one mark per layer")
    beyond = [place for place in places if max(largest["sick"][place]) > LIMIT]
    within = [place for place in places if place not in beyond]
    ax.set_title(f"Too large for float16: {' and '.join(beyond) or 'nothing'}")
    spans = {
        who: "; ".join(f"{place} {min(y):.0f} to {max(y):.0f}" for place, y in found.items())
        for who, found in largest.items()
    }
    plotting.show(
        fig,
        f"Beyond float16's limit in the sick model: {' and '.join(beyond) or 'nothing'}. "
        f"Within it, as in the plain one: {' and '.join(within) or 'nothing'}.",
        alt="Marks on a logarithmic axis with float16's limit, 65504, as a line. "
        + " ".join(f"The {who} model: {said}." for who, said in spans.items()),
    )


def _marks(ax: Axes, y: float, numbers: list[float], name: str, marker: str) -> None:
    """One mark per layer, and the model's name to the right of them."""
    meaning = "dead" if max(numbers) > LIMIT else "alive"
    colour = plotting.COLOURS[meaning]
    ax.plot(numbers, [y] * len(numbers), marker, color=colour, markersize=6)
    note(ax, (max(numbers) * 1.35, y), name, ha="left", meaning=meaning)


def scales(curves: dict[str, list[float]]) -> None:
    """The gradient scaler's scale after each step of three runs."""
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    steps = len(curves["plain"]) - 1
    ax.set(yscale="log", xlabel="optimizer step", ylabel="scale of the loss")
    meanings = {"plain": "alive", "sick": "dead", "small stream": "suspicious"}
    plotting.draw_curves(ax, range(steps + 1), curves, meanings=meanings)
    ax.set_title("The scaler repairs an overflow in the backward pass only")
    halved = {name: math.log2(curve[0] / curve[-1]) for name, curve in curves.items()}
    counts = ", ".join(f"{name} {times:.0f}" for name, times in halved.items())
    plotting.show(fig, f"Times that the scale was halved in {steps} steps: {counts}.")


def off_float32(off: dict[str, list[float]], largest: float) -> None:
    """Draw each margin's distance from float32's, from step 2 on, and float32's largest margin."""
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    ax.set(yscale="log", xlabel="optimizer step", ylabel="margin: distance from float32")
    meanings = {"clamped float16": "suspicious", "float32 norms": "alive"}
    num_steps = len(off["bfloat16"])
    plotting.draw_curves(ax, range(2, num_steps + 2), off, meanings=meanings)
    closest = min(off, key=lambda name: max(off[name]))
    plotting.draw_limit(ax, largest, "largest margin in float32")
    ax.set_title(f"Closest to float32 at its worst step: {closest}")
    said = ", ".join(f"{name} {max(values) / largest:.0%}" for name, values in off.items())
    plotting.show(fig, f"Largest distance, as a share of float32's largest margin: {said}.")
