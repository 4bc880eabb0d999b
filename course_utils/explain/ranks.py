"""Which process a line is from, and which of several that print the same entries is heard."""

import math
import re

from course_utils.explain.entries import Entry

_SPEAKER = re.compile(
    r"^\s*(\[(?:rank|default)?\s?\d+\]|\(\w+ pid=\d+[^)]*\)|(?:rank|node|worker|gpu)[ _-]?\d+\b"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?=:)|\d{1,4}(?=:\s*\{))",
    re.IGNORECASE,
)


def speaker(text: str) -> str:
    """The process that a line says it is from; "" if it does not.

    >>> speaker("[rank1]: {'loss': 2.1}"), speaker("10.0.0.4: {'loss': 2}"), speaker("{'loss': 2}")
    ('[rank1]', '10.0.0.4', '')
    """
    found = _SPEAKER.match(text)
    return found[1] if found else ""


class Ranks:
    """Of processes that print entries with the same fields, the first is heard.

    Another one's entry is kept only if it has a nan or inf: the others would count each step twice.
    """

    def __init__(self):
        self._heard: dict[frozenset[str], str] = {}

    def hears(self, entry: Entry, who: str) -> bool:
        first = self._heard.setdefault(frozenset(entry.names.values()), who)
        return who == first or not all(map(math.isfinite, entry.numbers.values()))
