"""How an era is declared: the script, its changes, and the symptoms it must show. Runs nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_utils.reproductions.eras.environment import Environment

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Change:
    """One difference between two versions of a script; `new` stands in the later one."""

    old: str
    new: str
    why: str


@dataclass(frozen=True)
class Sign:
    """One measured symptom of the report.

    Args:
        shows: the measured numbers in a few words, from the facts that the script printed.
        holds: whether they are the symptom.
        today: whether the same script in today's versions still has it.
    """

    name: str
    shows: Callable[[dict], str]
    holds: Callable[[dict], bool]
    today: bool


@dataclass(frozen=True)
class Row:
    """The lesson's row in docs/then_and_now.md, in words; the versions come from the lock."""

    failure: str
    then: str
    now: str
    protects: str
    dangerous: str


@dataclass(frozen=True)
class Era:
    """One failure in the versions of its day.

    Args:
        packages: those of the lock that count; the others only follow from them.
        model: the shipped model, and what `export_model` does to it.
        deviations: from the report to the script; each `new` stands in the script.
        changes: from the script to the one of today, made by replacing text.
        now_lock: of today's packages that the course has not.
        pinned_near: what could not be taken, and why; empty if the report's versions run.
    """

    stem: str
    thread: str
    packages: tuple[str, ...]
    model: dict[str, object]
    deviations: tuple[Change, ...]
    changes: tuple[Change, ...]
    symptoms: tuple[Sign, ...]
    row: Row
    now_lock: str | None = None
    pinned_near: str = ""

    @property
    def number(self) -> str:
        return self.stem[:2]

    @cached_property
    def then(self) -> Environment:
        return Environment(self.stem)

    @cached_property
    def now(self) -> Environment | None:
        """None: the course's own environment does."""
        return Environment(self.now_lock, on_course=True) if self.now_lock else None

    @property
    def versions(self) -> str:
        """The package versions that mattered then.

        >>> from course_utils.reproductions.eras import find_era
        >>> find_era("06").versions
        'trl 0.15.2, transformers 4.49.0, peft 0.14.0, accelerate 1.4.0'
        """
        return ", ".join(f"{name} {self.then.pins[name]}" for name in self.packages)

    def script(self, when: str) -> str:
        """The script's text, "then" or "now".

        Raises:
            AssertionError: a change names text that the script does not have.
        """
        text = SCRIPTS.joinpath(f"{self.stem}.py").read_text(encoding="utf-8")
        for change in self.changes if when == "now" else ():
            assert change.old in text, f"{self.stem}: {change.old!r} is not in the script"
            text = text.replace(change.old, change.new)
        return text
