"""The bits of a float in their three fields, and the number that they encode."""

import math
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_utils.concepts.diagram import note, sheet
from course_utils.numerics import FloatFormat, float_format
from course_utils.shown import plotting
from course_utils.shown.figures.colours import COLOURS, INK, tint
from course_utils.shown.figures.picture import Picture

SIGN, EXPONENT, MANTISSA = "sign", "exponent", "mantissa"
FILLS = {SIGN: "#d0d0d0", EXPONENT: tint("alive", 0.3), MANTISSA: "#f0f0f0"}


def draw_bits(format: str, **bits: bool) -> Picture:
    """The picture of 16 bits read as `format`; `bits` are named bit15 (the sign) to bit0."""
    fmt, digits = float_format(format), [bits[f"bit{n}"] for n in range(15, -1, -1)]
    pattern = int("".join(str(int(digit)) for digit in digits), 2)
    reading = read_bits(fmt, pattern)
    ax, left, size = sheet(8.8, 1.75), 0.75, 0.46
    for start, num_bits, field in fields_of(fmt):
        for bit in range(start, start + num_bits):
            draw_cell(ax, (left + size * bit, 0.75), (size, 0.46), FILLS[field])
            middle = (left + size * (bit + 0.5), 0.97)
            note(ax, middle, str(int(digits[bit])), color=INK, fontsize=12, family="monospace")
        middle = left + size * (start + num_bits / 2)
        note(ax, (middle, 1.4), field, color=INK)
        note(ax, (middle, 0.5), reading.parts[field], color=INK, fontsize=11)
    look = {"color": COLOURS[reading.meaning], "fontsize": 14, "weight": "bold"}
    note(ax, (left + 8 * size, 0.16), f"= {reading.number}", **look)
    return plotting.picture_of(
        ax.figure,
        f"As {fmt.name} these bits are {reading.number}: {reading.why}.",
        alt=f"Sixteen bits, {pattern:016b}, in three fields, sign, exponent and mantissa; "
        f"read as {fmt.name}: {', '.join(reading.parts.values())}, {reading.number}.",
    )


@dataclass(frozen=True)
class Reading:
    """The meaning of a bit pattern: each field, the number, and the rule that gives it."""

    parts: dict[str, str]
    number: str
    why: str
    meaning: str  # a key of COLOURS


def read_bits(fmt: FloatFormat, pattern: int) -> Reading:
    """Read `pattern`, an integer of `fmt.bits` bits, field by field.

    >>> read_bits(float_format("fp16"), 0x7BFF).parts
    {'sign': '+', 'exponent': '30: times 2**15', 'mantissa': '1.9990'}
    """
    number = fmt.number_of(pattern)
    stored = (pattern >> fmt.mantissa_bits) % 2**fmt.exponent_bits
    power = max(stored, 1) + fmt.min_exponent - 1
    share = pattern % 2**fmt.mantissa_bits / 2**fmt.mantissa_bits
    parts = {SIGN: "-" if pattern >> (fmt.bits - 1) else "+"}
    if math.isfinite(number):
        parts |= {EXPONENT: f"{stored}: times 2**{power}", MANTISSA: f"{bool(stored) + share:.4f}"}
        why, meaning = "sign, power of two and mantissa multiplied", "alive"
        if not stored:
            why, meaning = "a subnormal number, whose mantissa has lost its leading 1", "suspicious"
        if number == 0:
            why = "all bits but the sign are 0"
    else:
        parts |= {EXPONENT: f"{stored}: all ones", MANTISSA: "not 0" if share else "0"}
        why, meaning = "an exponent of only ones means inf or nan", "dead"
    return Reading(parts, f"{number:.6g}", why, meaning)


def fields_of(fmt: FloatFormat) -> tuple[tuple[int, int, str], ...]:
    """For each field its first bit, counted from the left, its number of bits, and its name."""
    exponent = fmt.exponent_bits
    return (0, 1, SIGN), (1, exponent, EXPONENT), (1 + exponent, fmt.mantissa_bits, MANTISSA)


def draw_cell(ax: Axes, corner: tuple[float, float], size: tuple[float, float], fill: str) -> None:
    ax.add_patch(Rectangle(corner, *size, facecolor=fill, edgecolor="white", linewidth=1.5))
