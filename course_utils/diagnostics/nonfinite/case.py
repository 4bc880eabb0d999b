"""The facts about a fault from which its cause is found, and the form of a cause."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from course_utils.diagnostics.nonfinite.events import Event


@dataclass(frozen=True)
class Cause:
    """Why it happened and what to do: two sentences without a full stop."""

    kind: str  # a short name of the class: "labels all ignored"
    why: str
    fix: str


@dataclass(frozen=True)
class Growth:
    """How the run's numbers grew before the fault; empty texts where they did not."""

    text: str = ""  # "the weights grew 300-fold in 2 steps"
    learning_rate: float | None = None


@dataclass(frozen=True)
class Case:
    """One fault with everything that is known around it."""

    origin: Event | None = None
    became_nan: Event | None = None
    reached: str = ""
    batch: Any = None
    growth: Growth = field(default_factory=Growth)
    broken_on_entry: Mapping[str, str] = field(default_factory=dict)  # weight -> what it held
    max_length: int | None = None  # to which the Trainer truncates, in tokens

    @property
    def place(self) -> str:
        """The module and the line, as far as known, for a sentence: " in fc (train.py:3)"."""
        line = self.origin.places.line
        return (f" in {self.origin.module}" if self.origin.module else "") + (
            f" ({str(line).partition(': ')[0]})" if line else ""
        )
