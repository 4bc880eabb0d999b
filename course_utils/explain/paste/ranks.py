"""Finds which process a line is from, and which of several equal outputs to read."""

import math
import re

from course_utils.explain.paste.entries import Entry

_SPEAKER = re.compile(
    r"^\s*(\[(?:rank|default)?\s?\d+\]|\(\w+ pid=\d+[^)]*\)|(?:rank|node|worker|gpu)[ _-]?\d+\b"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?=:)|\d{1,4}(?=:\s*\{))",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b(\d{4}-\d\d-\d\d)[ T_](\d\d:\d\d:\d\d)")
AHEAD = 3  # entries by which one has gone on when another begins: it is another run's
COUNTS, MAX_HEARD = ("step", "epoch"), 4096


def speaker(text: str) -> str:
    """The process that a line says it is from; "" if it does not.

    >>> speaker("[rank1]: {'loss': 2.1}"), speaker("10.0.0.4: {'loss': 2}"), speaker("{'loss': 2}")
    ('[rank1]', '10.0.0.4', '')
    """
    found = _SPEAKER.match(text)
    return found[1] if found else ""


class Ranks:
    """Of processes that print entries of the same step, the first is heard.

    Another one's entry is dropped if it has the same fields, the same count of steps or epochs and
    the same nan; of those that are told apart by a bare number only, which may be the number of
    the line, if all its numbers are the same. One that begins when the first has gone on for some
    entries, and later than its last line by the clock, is the process of another run.
    """

    def __init__(self):
        self._heard: dict[tuple, str] = {}
        self._last: dict[str, tuple[str, int]] = {}  # when each was heard last, how often

    def hears(self, entry: Entry, who: str, text: str = "") -> bool:
        if not who:
            return True
        time = " ".join(found.groups()) if (found := _TIME.search(text)) else ""
        counts = {name: entry.numbers[name] for name in COUNTS if name in entry.numbers}
        is_named = bool(counts) and not who.strip("[]").isdigit()
        said = counts if is_named else entry.numbers
        broken = frozenset(n for n, value in entry.numbers.items() if not math.isfinite(value))
        key = (frozenset(entry.names.values()), broken, repr(sorted(said.items())))
        if len(self._heard) > MAX_HEARD:
            self._heard.clear()
        if self._is_another_run(self._heard.get(key, who), who, time):
            self._heard.clear()
        is_heard = self._heard.setdefault(key, who) == who
        if is_heard and counts:
            self._last[who] = (time, self._last.get(who, ("", 0))[1] + 1)
        return is_heard

    def _is_another_run(self, first: str, who: str, time: str) -> bool:
        """Whether somebody speaks of a step at a time when the first has long passed it."""
        last, number = self._last.get(first, ("", 0))
        return first != who and who not in self._last and number > AHEAD and "" < last < time
