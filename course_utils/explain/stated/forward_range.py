"""A forward pass that leaves the range of float16, as somebody has measured it by hand."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

_LIMIT = 65504.0  # of float16
_LIST = re.compile(r"^\W*\[(?P<items>(?:\s*(?:-?\d[\d.e+]*|inf|nan)\s*,){3,}.*)\]?\W*$")
_FORMAT = re.compile(
    r"\b(?:torch\.)?(?:(?P<half>float16|fp16|half)|(?P<wide>float32|fp32|bfloat16|bf16))\b\)?"
    r"\W{1,4}(?:loss\W{1,3})?(?P<value>nan|inf|\d+\.\d+)\W*$",
    re.IGNORECASE,
)
_WITHOUT_BFLOAT16 = re.compile(r"\b(?:V100|T4|P100|P40|GTX ?1\d{3}|RTX ?20\d\d|Quadro RTX)\w*\b")
SURE = 10.2  # the measurement beside the scaler's last word
OUTSIDE = (
    "the forward pass itself leaves the range of float16 (65504): {shown}. A loss scale acts on "
    "the gradients alone, so every scale overflows; no scale, learning rate or choice of rows "
    "helps. Models that were made in bfloat16 (T5 and others) do that"
)
WIDER = "train in {formats}, the whole model or the blocks that pass 65504; leave fp16 off"


def outside_of_float16(beside: Beside, log: Log) -> Iterator[Finding]:
    """Numbers above 65504 that are inf in float16, or a loss that is nan in float16 alone."""
    lines = [line for _, line in beside.lines]
    lists, losses = _by_block(lines), _by_format(lines)
    if not lists and not losses:
        return
    told = [one for pair in (losses, lists) if pair for one in pair]
    shown = "one batch is finite in a wider format and is not in float16" if losses else ""
    if lists:
        most = max(value for value in _items(lists[0]) if math.isfinite(value))
        also = f"the same blocks that reach {most:g} are inf in float16"
        shown = f"{shown}, and {also}" if shown else also
    proof = tuple(f"{one.where} says: {one.text.strip()[:MAX_QUOTE]}" for one in told)
    old = beside.matching(_WITHOUT_BFLOAT16)
    formats = f"float32 ({old[1]} has no bfloat16)" if old else "bfloat16 or float32"
    why, advice = OUTSIDE.format(shown=shown), WIDER.format(formats=formats)
    yield Finding("fp16_overflow", SURE, told[0], proof, why=why, advice=advice)


def _by_block(lines: list[Line]) -> tuple[Line, Line] | None:
    """A list with numbers above the limit, and one that follows it up to there and has inf."""
    lists = [line for line in lines if _LIST.match(line.text)]
    for wide in lists:
        values = _items(wide)
        over = next((n for n, value in enumerate(values) if value > _LIMIT), 0)
        if not over or not all(map(math.isfinite, values)):
            continue
        for half in lists:
            other = _items(half)
            is_like = all(
                abs(a - b) <= 0.01 * a for a, b in zip(values[:over], other[:over], strict=False)
            )
            if is_like and len(other) > over and not math.isfinite(other[over]):
                return wide, half
    return None


def _items(line: Line) -> list[float]:
    found = re.findall(r"-?\d[\d.e+]*|\binf\b|\bnan\b", _LIST.match(line.text)["items"])
    return [float(one.rstrip(".")) for one in found]


def _by_format(lines: list[Line]) -> tuple[Line, Line] | None:
    """Two lines next to each other: finite in a wider format, nan or inf in float16."""
    for line, below in pairwise(lines):
        pair = [(one, _FORMAT.search(one.text)) for one in (line, below)]
        if not all(found for _, found in pair):
            continue
        bad = {one.where for one, m in pair if m["half"] and m["value"].lower() in ("nan", "inf")}
        good = {one.where for one, m in pair if m["wide"] and m["value"][0].isdigit()}
        if len(bad) == len(good) == 1:
            return line, below
    return None
