"""What a log holds, in bounded memory: entries in order, and lines that say how it ended."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from course_utils.explain.reading import Entry

MAX_KEPT = 20_000


@dataclass
class Log:
    """Entries by order, thinned out evenly when there are many; turning points always stay.

    A turning point is an entry in which some field becomes, or stops being, nan, inf or 0.
    """

    entries: list[Entry] = field(default_factory=list)
    num_entries: int = 0
    num_lines: int = 0
    _states: dict[str, str] = field(default_factory=dict)
    _turning: set[int] = field(default_factory=set)

    def add(self, entry: Entry) -> None:
        self.num_entries += 1
        if self._turns(entry):
            self._turning.add(id(entry))
        self.entries.append(entry)
        if len(self.entries) > MAX_KEPT:
            self._thin_out()

    def _turns(self, entry: Entry) -> bool:
        states = {name: state_of(value) for name, value in entry.numbers.items()}
        changed = any(self._states.get(name) != state for name, state in states.items())
        self._states |= states
        return changed

    def _thin_out(self) -> None:
        """Drop every other entry that is no turning point (and of those, keep half at most)."""
        keeps = deque(self.entries)
        self.entries = [
            entry
            for number, entry in enumerate(keeps)
            if number % 2 == 0 or (id(entry) in self._turning and number < MAX_KEPT // 2)
        ]
        self._turning &= {id(entry) for entry in self.entries}

    @property
    def fields(self) -> set[str]:
        return set().union(*(entry.numbers for entry in self.entries)) if self.entries else set()

    def series(self, name: str) -> list[tuple[Entry, float]]:
        """The entries that have the field, with its value."""
        return [(e, e.numbers[name]) for e in self.entries if name in e.numbers]

    def values(self, name: str) -> list[float]:
        return [value for _, value in self.series(name)]

    def first(self, name: str, test: Callable[[float], bool]) -> Entry | None:
        return next((entry for entry, value in self.series(name) if test(value)), None)

    def before(self, entry: Entry) -> Entry | None:
        """The entry just before one of `entries`."""
        at = next(number for number, one in enumerate(self.entries) if one is entry)
        return self.entries[at - 1] if at else None

    def kind(self) -> str:
        """preference, policy, or supervised: by its fields."""
        if self.fields & {"chosen_reward", "rejected_reward", "margin"}:
            return "preference"
        if self.fields & {"reward", "reward_std", "kl_loss", "policy_loss", "length"}:
            return "policy"
        return "supervised"


def state_of(value: float) -> str:
    """nan, inf, 0 or number.

    >>> [state_of(x) for x in (float("nan"), float("-inf"), -0.0, 0.5)]
    ['nan', 'inf', '0', 'number']
    """
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf"
    return "0" if value == 0 else "number"


def finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]
