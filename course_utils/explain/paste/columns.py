"""Rows of numbers by the names of their columns: of tables with a head, and of `name=value` lines.

The names of a log's own fields are read elsewhere; these are any names that a writer gave.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, number_of, place
from course_utils.explain.paste.log import Log

_PAIR = re.compile(
    r"(?P<name>[A-Za-z_][\w./%-]*)['\"]?\s*(?:[=:]\s*|\s)['\"]?(?P<value>-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
    r"(?![\w.])"
)
_BREAK = re.compile(r"[\s|,;]+")
FEWEST = 3  # cells of a head


@dataclass(frozen=True)
class Row:
    """The numbers of one row or line, by their names in small letters, and where it stands."""

    at: Line | Entry
    numbers: dict[str, float]

    def first(self, pattern: re.Pattern) -> tuple[str, float] | None:
        """The first column of such a name, with its number."""
        found = ((name, value) for name, value in self.numbers.items() if pattern.search(name))
        return next(found, None)


def rows_of(beside: Beside, log: Log) -> Iterator[Row]:
    """Every row beneath a head of as many words, and every line of at least three pairs."""
    head: list[str] = []
    parts = beside.words + [e for run in (*log.earlier, log) for e in run.entries]
    for part in sorted(parts, key=place):
        cells = [one for one in _BREAK.split(part.text.strip()) if one]
        numbers = [number_of(one.rstrip("%")) for one in cells]
        found = _PAIR.finditer(part.text)
        pairs = [(one["name"].lower(), one["value"].replace(",", "")) for one in found]
        if len(cells) == len(head) and all(number is not None for number in numbers):
            yield Row(part, dict(zip(map(str.lower, head), numbers, strict=True)))
        elif len(pairs) >= FEWEST:
            yield Row(part, {name: float(value) for name, value in pairs})
        elif len(cells) >= FEWEST and not any(number is not None for number in numbers):
            head = cells
