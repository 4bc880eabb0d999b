"""Lesson 00 in pictures: the map of the course, drawn from the outline of its lessons.

A lesson that is added to the outline is on the map.
"""

import textwrap
from functools import cache

from course_utils.concepts.diagram import Box, arrow, box, note, sheet
from course_utils.exercises.outline import Entry, outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.shown import plotting
from course_utils.shown.figures.colours import INK

WIDTH, BOX, GAP, LINE = 9.0, 1.86, 0.22, 0.17  # inches
WRAP, FONT = 24, 9
FIRST = "00"


def course_map() -> None:
    """Draw every lesson with the symptom it explains, to the right of those it builds on."""
    lessons = outline()
    words = {entry.number: _words(entry) for entry in lessons}
    height = LINE * max(text.count("\n") + 1 for text in words.values()) + 0.22
    columns = [
        [n for n in words if steps_before(n) == step]
        for step in range(1 + max(map(steps_before, words)))
    ]
    tallest = max(map(len, columns)) * (height + GAP) + GAP
    ax, boxes = sheet(WIDTH, tallest), {}
    for column, numbers in enumerate(columns):
        x = BOX / 2 + 0.06 + column * (WIDTH - BOX - 0.12) / max(len(columns) - 1, 1)
        for row, number in enumerate(numbers):
            y = tallest * (1 - (row + 0.5) / len(numbers))
            boxes[number] = _draw_lesson(ax, (x, y), words[number], height, number)
    for number in boxes:
        for before in leads_from(number):
            arrow(ax, boxes[before].right, boxes[number].left)
    total = sum(entry.minutes for entry in lessons)
    deeper = sum(entry.deeper_minutes for entry in lessons)
    apart = f" (and {deeper / 60:.0f} of deeper looks, after the plus sign)" if deeper else ""
    told = [f"{entry.number} {_say_before(entry.number)}: {_seen(entry)}" for entry in lessons]
    plotting.show(
        ax.figure,
        f"{len(lessons)} lessons, {total / 60:.0f} hours in all{apart}. An arrow leads to a lesson "
        "that uses what the one before it found; any can be taken alone.",
        alt=f"A map from left to right. {'; '.join(told)}.",
    )


@cache
def steps_before(number: str) -> int:
    """The number of lessons on the longest way to this one.

    >>> steps_before("00"), steps_before("01")
    (0, 1)
    """
    return max((1 + steps_before(before) for before in _needs(number)), default=0)


def leads_from(number: str) -> list[str]:
    """The lessons that lead directly to this one, not through another of its requirements.

    >>> leads_from("01")
    ['00']
    """
    needs = _needs(number)
    return [one for one in needs if not any(one in _all_before(other) for other in needs)]


def _needs(number: str) -> tuple[str, ...]:
    entry = next(entry for entry in outline() if entry.number == number)
    return entry.builds_on or ((FIRST,) if number != FIRST else ())


def _all_before(number: str) -> set[str]:
    return {one for need in _needs(number) for one in {need} | _all_before(need)}


def _draw_lesson(ax, at: tuple[float, float], words: str, height: float, number: str) -> Box:
    head, _, body = words.partition("\n")
    is_here = number == FIRST
    style = {"meaning": "alive" if is_here else "neutral", "filled": is_here}
    drawn = box(ax, at, "", width=BOX, height=height, **style)
    look = {"ha": "left", "va": "top", "color": INK, "fontsize": FONT, "linespacing": 1.25}
    left, top = drawn.left[0] + 0.1, drawn.top[1]
    note(ax, (left, top - 0.09), head, weight="bold", **look)
    note(ax, (left, top - 0.09 - 1.2 * LINE), body, **look)
    return drawn


def _words(entry: Entry) -> str:
    deeper = f" + {entry.deeper_minutes}" if entry.deeper_minutes else ""
    head = f"{entry.number} · {entry.minutes}{deeper} minutes"
    return "\n".join([head, *textwrap.wrap(_seen(entry), WRAP)])


def _seen(entry: Entry) -> str:
    """The first symptom that the lesson explains, else its title."""
    return next((s.seen for s in SYMPTOMS if s.lesson == entry.stem), entry.title)


def _say_before(number: str) -> str:
    before = " and ".join(leads_from(number))
    return f"(after {before})" if before else "(you are here)"
