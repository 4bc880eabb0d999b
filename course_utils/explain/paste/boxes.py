"""Reads boxes with several names and numbers to a line; a whole box is one entry."""

import re
from collections.abc import Callable

from course_utils.explain.paste.tables import NUMBER

_NAME = re.compile(r"(?=.*[A-Za-z])[\w@./ ()-]{2,80}")
_NUMBER = re.compile(NUMBER)
_RULE = re.compile(r"\s*[\u251c\u255e\u255f\u2560\u2523][\u2500-\u257f|\s]*")  # between two rows
Pairs = list[tuple[str, str]]


class Boxes:
    """Holds the box that a log is in: `| name | 1.0 | name | 2.0 |`, row after row.

    `feed` takes a row or a rule of it; `close` gives what a box held, where it began, and its text.
    """

    def __init__(self, canonical: Callable[[str], str | None]):
        self._canonical = canonical
        self._held: Pairs = []
        self._begin: tuple[str, str] = ("", "")

    def feed(self, where: str, text: str) -> bool:
        """Whether a line is part of the box; one that names a number again begins another."""
        if self._held and _RULE.fullmatch(text):
            return True
        if "|" not in text:
            return False
        found = pairs(text)
        is_known = any(self._canonical(name) for name, _ in found)
        again = {name for name, _ in found} & {name for name, _ in self._held}
        if len(found) < 2 or again or not (self._held or is_known):
            return False
        if not self._held:
            self._begin = where, text
        self._held += found
        return True

    def close(self) -> tuple[str, str, Pairs] | None:
        if not self._held:
            return None
        held, self._held = self._held, []
        return *self._begin, held


def pairs(text: str) -> Pairs:
    """The names of a row with the number behind each; [] for a row of another kind.

    >>> pairs("| loss | 2.1 | lr | 1e-4 |"), pairs("| loss | 2.1 | lr |"), pairs("| 1 | 2 |")
    ([('loss', '2.1'), ('lr', '1e-4')], [], [])
    """
    if not text.lstrip().startswith("|"):
        return []
    cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    names, numbers = cells[::2], cells[1::2]
    if len(cells) % 2 or not all(map(_NUMBER.fullmatch, numbers)):
        return []
    if any(_NUMBER.fullmatch(name) or not _NAME.fullmatch(name) for name in names):
        return []
    return list(zip(names, numbers, strict=True))
