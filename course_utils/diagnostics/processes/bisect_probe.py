"""One probe of a bisection: what was tried, how it ended. Needs no matplotlib, as trees do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """One run: the settings it took from the dying configuration, and how it ended."""

    settings: tuple[str, ...]
    outcome: str
