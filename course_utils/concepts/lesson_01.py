"""Lesson 01 in pictures: the bits of a float, the gap at 2048, and what 0 times inf does.

Each function shows one picture that says one thing; two of them can be played with.
"""

import torch

from course_utils.concepts.diagram import arrow, box, note, sheet
from course_utils.concepts.float_bits import FILLS, SIGN, draw_bits, draw_cell, fields_of
from course_utils.concepts.overflow import BOUND, draw_overflow
from course_utils.numerics import float_format
from course_utils.shown import plotting
from course_utils.shown.figures.colours import COLOURS, INK
from course_utils.shown.playable import Bit, Choice, Slider, play

NEAR = 2048  # where float16's gap becomes 2


def bit_fields() -> None:
    """Sign, exponent and mantissa of three formats, bit for bit under each other."""
    formats = [float_format(name) for name in ("float32", "bfloat16", "float16")]
    ax, left, size = sheet(8.8, 2.45), 1.0, 0.24
    for row, fmt in enumerate(formats):
        y = 1.55 - 0.62 * row
        note(ax, (left - 0.12, y + 0.2), fmt.name, ha="right", color=INK, fontsize=10)
        for start, num_bits, field in fields_of(fmt):
            for bit in range(start, start + num_bits):
                draw_cell(ax, (left + size * bit, y), (size, 0.4), FILLS[field])
            if field != SIGN:
                middle = left + size * (start + num_bits // 2 + 0.5)  # of a bit, not between two
                note(ax, (middle, y + 0.2), f"{num_bits}", color=INK, fontsize=11, weight="bold")
    note(ax, (left + size / 2, 2.2), "sign", color=INK)
    note(ax, (left + 5 * size, 2.2), "exponent: range", meaning="alive", fontsize=10)
    note(ax, (left + 20 * size, 2.2), "mantissa: precision", color=INK, fontsize=10)
    told = [f"{f.name}: {f.exponent_bits} and {f.mantissa_bits}" for f in formats]
    plotting.show(
        ax.figure,
        "Exponent bits give range, mantissa bits give precision. bfloat16 is float32 without its "
        f"last {formats[0].mantissa_bits - formats[1].mantissa_bits} bits; float16 divides its "
        "bits in another way.",
        alt="A row of bits for each format, first one for the sign, then those of the exponent and "
        f"of the mantissa. {'; '.join(told)}.",
    )


def flip_bits() -> None:
    """The bits of a 16-bit float, which a reader can flip, and the number they stand for."""
    start = f"{int(torch.tensor(65504.0, dtype=torch.float16).view(torch.int16)):016b}"
    bits = {f"bit{15 - place}": Bit(digit == "1") for place, digit in enumerate(start)}
    play(draw_bits, {"format": Choice("float16", ("float16", "bfloat16")), **bits})


def gap_at_2048() -> None:
    """float16's numbers around 2048, and where 2048 + 1 ends."""
    fmt = float_format("float16")
    below, above = fmt.ulp(NEAR - 1), fmt.ulp(NEAR)
    num_below = 5
    numbers = [NEAR - below * n for n in range(num_below, 0, -1)]
    numbers += [NEAR + above * n for n in range(5)]
    ax = sheet(8.8, 2.1)
    place = {number: 0.6 + 0.58 * (number - numbers[0]) for number in numbers}
    ax.plot([0.3, 8.55], [0.7, 0.7], color=COLOURS["neutral"], linewidth=1)
    for number, x in place.items():
        ax.plot([x, x], [0.58, 0.82], color=INK, linewidth=1.6)
        note(ax, (x, 0.36), f"{number:g}", color=INK, fontsize=10)
    start, target = place[NEAR], place[NEAR] + 0.58
    ended = fmt.round(NEAR + 1.0)
    ax.plot([target], [0.7], "x", color=COLOURS["dead"], markersize=9, markeredgewidth=2)
    bow = {"connectionstyle": "arc3,rad=-0.7", "shrinkB": 6}
    arrow(ax, (start, 0.86), (target, 0.8), meaning="alive", **bow)
    note(ax, (start + 0.27, 1.32), "+ 1", meaning="alive", fontsize=10)
    note(ax, (target + 0.12, 1.05), f"no such number: back to {ended:g}", meaning="dead", ha="left")
    note(ax, ((place[numbers[0]] + start) / 2, 1.75), f"gap {below:g}", color=INK, fontsize=11)
    note(ax, ((start + place[numbers[-1]]) / 2, 1.75), f"gap {above:g}", color=INK, fontsize=11)
    ax.plot([start, start], [0.95, 1.9], color=COLOURS["neutral"], linewidth=1, linestyle=":")
    plotting.show(
        ax.figure,
        f"From {NEAR} on float16's next number is {above:g} away. {NEAR} + 1 lies halfway "
        f"between two numbers and is rounded to {ended:g}: a running total of ones stops there.",
        alt=f"A number line of float16. Up to {NEAR} its numbers are {below:g} apart, from there "
        f"on {above:g}. An arrow from {NEAR} by 1 ends between two numbers, at a cross.",
    )


def zero_times_inf() -> None:
    """A clamp after exp, forwards and backwards: the values torch computes at every step."""
    d = torch.tensor(100.0, requires_grad=True)
    grown = d.exp()
    grown.retain_grad()
    bounded = grown.clamp(max=BOUND)
    bounded.retain_grad()
    bounded.backward()
    ax, xs = sheet(8.8, 2.0), (0.75, 3.1, 5.45, 7.8)
    names = ("log-ratio d", "exp(d)", f"clamp at {BOUND:g}", "loss")
    boxes = [box(ax, (x, 1.0), name, width=1.35) for x, name in zip(xs, names, strict=True)]
    there = [f"{value.item():g}" for value in (d.detach(), grown.detach(), bounded.detach())]
    back = [f"{value.grad.item():g}" for value in (d, grown, bounded)]
    steps = (f"{back[1]} times {there[1]} = {back[0]}", f"{back[2]} times 0 = {back[1]}", back[2])
    for one, other, value, step in zip(boxes[:-1], boxes[1:], there, steps, strict=True):
        forwards, backwards = "dead" if value == "inf" else "neutral", "neutral"
        backwards = "dead" if "nan" in step else "neutral"
        arrow(ax, (one.right[0], 1.12), (other.left[0], 1.12), meaning=forwards)
        arrow(ax, (other.left[0], 0.88), (one.right[0], 0.88), meaning=backwards)
        middle = (one.x + other.x) / 2
        note(ax, (middle, 1.5), value, meaning=forwards, fontsize=11)
        note(ax, (middle, 0.42), step, meaning=backwards, fontsize=11)
    note(ax, (0.1, 1.85), "forwards: values", color=INK, ha="left")
    note(ax, (0.1, 0.12), "backwards: gradients", color=INK, ha="left")
    plotting.show(
        ax.figure,
        f"The clamp makes {there[1]} a finite {there[2]}, so the loss shows nothing. In the "
        f"backward pass it sends {back[1]}. exp multiplies that by its value, {there[1]}, and the "
        f"gradient of d is {back[0]}.",
        alt=f"From the log-ratio d through exp and a clamp to the loss. Forwards the values are "
        f"{', '.join(there)}. Backwards the gradients are {', '.join(reversed(back))}.",
    )


def where_exp_overflows() -> None:
    """What a clamp after exp does to the gradient, by format; a reader moves the log-ratio."""
    play(draw_overflow, {"d": Slider(start=12, low=0, high=100, step=0.5)})
