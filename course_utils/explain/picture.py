"""Draws loss, gradient norm and reward around the entry where the run turned, as a small SVG.

Colours are left to the page, through the classes of the marks; every word of a log is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import finite, state_of

if TYPE_CHECKING:
    from course_utils.explain.answer import Answer

FIELDS = (("loss", "policy_loss"), ("grad_norm",), ("reward",))  # the first that the log has
MAX_ENTRIES = 80
MANY_DECADES = 1000.0  # the largest over the smallest above 0, from which an axis is logarithmic
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 92, 74, 12, 24, 6


@dataclass(frozen=True)
class Panel:
    """One field over a stretch of the log; x counts its entries from 0."""

    name: str  # the log's own word
    points: tuple[tuple[int, float], ...]

    @property
    def alt(self) -> str:
        values = [value for _, value in self.points]
        held = finite(values)
        reach = f", between {min(held):.3g} and {max(held):.3g}" if held else ""
        odd = [f"{values.count(v)} inf" for v in (math.inf, -math.inf) if v in values]
        odd += [f"{count} nan"] if (count := sum(map(math.isnan, values))) else []
        lost = f"; {', '.join(odd)}" if odd else ""
        return f"{self.name} goes from {values[0]:.3g} to {values[-1]:.3g}{reach}{lost}"


def picture(answer: Answer) -> str:
    """An `<svg>` with what it shows in its label; "" if no field has two entries to draw."""
    entries, turn = _stretch(answer)
    panels = list(_panels(entries))
    if not panels:
        return ""
    height = len(panels) * (HEIGHT + TOP) + 2 * TOP
    marks = [_turn(turn, len(entries), height)] if turn is not None else []
    for number, panel in enumerate(panels):
        marks += _drawn(panel, len(entries), number * (HEIGHT + TOP) + TOP)
    names = _places(entries)
    marks += _ends(names, turn, height)
    alt = f"From {names[0]} to {names[-1]}: {'. '.join(panel.alt for panel in panels)}."
    alt += f" It turns at {names[turn]}." if turn is not None else ""
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(alt)}"'
    return f'{head} xmlns="http://www.w3.org/2000/svg">{"".join(marks)}</svg>'


def _stretch(answer: Answer) -> tuple[list[Entry], int | None]:
    """The entries to draw, and which of them is the one that turned."""
    entries = answer.entries
    at = answer.causes[0].at if answer.causes else None
    turn = next((number for number, entry in enumerate(entries) if entry is at), None)
    if turn is None:
        return list(entries[:: 1 + len(entries) // MAX_ENTRIES]), None
    start = max(0, min(turn - MAX_ENTRIES // 2, len(entries) - MAX_ENTRIES))
    return list(entries[start : start + MAX_ENTRIES]), turn - start


def _panels(entries: list[Entry]) -> Iterator[Panel]:
    for names in FIELDS:
        for name in names:
            held = [(x, e.numbers[name]) for x, e in enumerate(entries) if name in e.numbers]
            if len(held) >= 2:
                said = next(e.names.get(name, name) for e in entries if name in e.numbers)
                yield Panel(said, tuple(held))
                break


def _drawn(panel: Panel, count: int, top: float) -> Iterator[str]:
    held = finite(value for _, value in panel.points)
    above = [value for value in held if value > 0]
    is_log = bool(above) and min(held) >= 0 and max(held) > MANY_DECADES * min(above)
    yield _word(LEFT, top - 8, panel.name + (", logarithmic" if is_log else ""), "name")
    yield f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT}"/>'
    if held:
        low, high = min(held), max(held)
        ends = ((high, 14), (low, HEIGHT - 3)) if high > low else ((high, HEIGHT / 2 + 5),)
        for value, y in ends:
            yield _word(LEFT - 6, top + y, f"{value + 0.0:.3g}", "end")
    places = [(_x(x, count), top + _y(v, held, above, is_log), v) for x, v in panel.points]
    yield from _curve(places)


def _curve(places: list[tuple[float, float, float]]) -> Iterator[str]:
    """Lines between neighbours that are finite, a cross where a number is not."""
    for (x, y, value), (next_x, next_y, following) in pairwise(places):
        if math.isfinite(value) and math.isfinite(following):
            yield f'<path class="curve" d="M{x:.1f} {y:.1f}L{next_x:.1f} {next_y:.1f}"/>'
    was = "number"
    for x, y, value in places:
        state = state_of(value)
        if math.isfinite(value):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>'
        else:
            d = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
            yield f'<path class="lost" d="{d}"/>'
            if state != was:
                yield _word(x, y + 19, state, "lost")
        was = state


def _x(x: int, count: int) -> float:
    return LEFT + 8 + x * (WIDTH - LEFT - RIGHT - 16) / max(1, count - 1)


def _y(value: float, held: list[float], above: list[float], is_log: bool) -> float:
    """How far below the panel's upper edge; what is not finite lies near it."""
    if not math.isfinite(value):
        return 8.0
    if is_log:
        low, high = math.log10(min(above)), math.log10(max(held))
        bottom = low - (high - low) / 8 if 0 in held else low  # 0 lies below all others
        value, low = math.log10(value) if value else bottom, bottom
    else:
        low, high = min(held), max(held)
    share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
    return BOTTOM + (1 - share) * (HEIGHT - 2 * BOTTOM)


def _turn(turn: int, count: int, height: float) -> str:
    x = _x(turn, count)
    return f'<path class="turn" d="M{x:.1f} {TOP}V{height - TOP}"/>'


def _ends(names: list[str], turn: int | None, height: float) -> Iterator[str]:
    yield _word(LEFT, height - 6, names[0], "name")
    yield _word(WIDTH - RIGHT, height - 6, names[-1], "end")
    if turn is not None and 0.25 < turn / (len(names) - 1) < 0.75:
        yield _word(_x(turn, len(names)), height - 6, f"turns at {names[turn]}", "mid")


def _places(entries: list[Entry]) -> list[str]:
    """Steps, if every entry has one, else lines."""
    steps = [entry.numbers.get("step", math.nan) for entry in entries]
    if not all(map(math.isfinite, steps)):
        return [entry.where for entry in entries]
    return [f"step {step:g}" for step in steps]


def _word(x: float, y: float, text: str, kind: str) -> str:
    anchor = {"name": "start", "end": "end"}.get(kind, "middle")
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
