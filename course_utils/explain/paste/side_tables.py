"""Tables that no entry is read from: rows of numbers, as of several runs side by side."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, number_of, place
from course_utils.explain.paste.tables import GAP, cells

FEWEST_ROWS, FEWEST_NUMBERS, MAX_NAMES = 3, 3, 8


@dataclass
class SideTable:
    """The names above the rows, if a line gives them, and each row with its line."""

    names: list[str]
    rows: list[tuple[Line, list[str]]] = field(default_factory=list)

    def column(self, at: int) -> list[tuple[Line, float]]:
        """The numbers of a column, with their lines."""
        found = ((line, number_of(row[at])) for line, row in self.rows)
        return [(line, number) for line, number in found if number is not None]

    def places(self, pattern: re.Pattern) -> list[int]:
        return [at for at, name in enumerate(self.names) if pattern.search(name)]

    @property
    def where(self) -> str:
        first, last = place(self.rows[0][0]), place(self.rows[-1][0])
        return f"lines {first} to {last}"

    @property
    def said(self) -> str:
        """Where its rows stand, and under which names."""
        named = ", ".join(self.names[:MAX_NAMES])
        return f"{len(self.rows)} rows of numbers, {self.where}" + (f" ({named})" if named else "")


def side_tables(beside: Beside) -> Iterator[SideTable]:
    """Each table of at least three rows with three numbers, which holds no entry of the log."""
    last: list[str] = []
    table: SideTable | None = None
    for line in beside.words:
        if GAP.fullmatch(line.text):
            continue
        found = cells(line.text) or []
        numbers = [cell for cell in found if number_of(cell) is not None]
        if len(numbers) < max(FEWEST_NUMBERS, len(found) / 2):
            yield from _whole(table)
            table, last = None, [] if numbers else found
            continue
        if table is None or len(table.rows[-1][1]) != len(found):
            yield from _whole(table)
            table = SideTable(_names_above(found, last))
        table.rows.append((line, found))
    yield from _whole(table)


def _names_above(row: list[str], head: list[str]) -> list[str]:
    """The names of a row's cells, where what labels the rows may have none.

    >>> _names_above(["SFT", "11", "238"], ["score", "tokens"]), _names_above(["1", "2"], ["a"])
    (['', 'score', 'tokens'], [])
    """
    if len(head) == len(row) - 1 and head and number_of(row[0]) is None:
        return ["", *head]
    return head if len(head) == len(row) else []


def _whole(table: SideTable | None) -> Iterator[SideTable]:
    if table is not None and len(table.rows) >= FEWEST_ROWS:
        yield table
