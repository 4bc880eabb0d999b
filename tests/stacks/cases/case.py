"""One case: a tiny run, healthy or broken, and what the instruments must say about it."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec


@dataclass(frozen=True)
class Seen:
    """What an instrument said.

    Args:
        causes: keys of the causes that it named, the most likely first.
        unseen: what it says that it could not look at, and why.
    """

    causes: list[str]
    unseen: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Expected:
    """What the instrument must say, in words and as a test."""

    says: str
    holds: Callable[[list[str]], bool]
    is_healthy: bool = False


@dataclass(frozen=True)
class Case:
    """One tiny run with an instrument on it."""

    group: str
    name: str
    run: Callable[[], Seen]
    expected: Expected

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"

    @property
    def kind(self) -> tuple[str, bool]:
        """Cases of one kind ask the same of the same code."""
        return self.group, self.expected.is_healthy


SILENCE = Expected("no cause", lambda causes: not causes, is_healthy=True)
FOUND = Expected("any cause", bool)


def first(*keys: str) -> Expected:
    """The first cause is one of these."""
    says = f"first cause {' or '.join(keys)}"
    return Expected(says, lambda causes: bool(causes) and causes[0] in keys)


def none_of(*keys: str) -> Expected:
    """None of these causes is named; others may be, which are true here."""
    says = f"no cause {', '.join(keys)}"
    return Expected(says, lambda causes: not set(keys) & set(causes), is_healthy=True)


def has(*packages: str) -> bool:
    """Whether all of these packages are installed."""
    return all(find_spec(package) for package in packages)


def is_older(package: str, version: str) -> bool:
    """Whether the installed package is older than this version, such as "0.16"."""
    installed = importlib.metadata.version(package).split(".")
    return [int(part) for part in installed[:2]] < [int(part) for part in version.split(".")]


class Group(list[Case]):
    """Cases of one kind of run; a function becomes a case with `@group.case(name, expected)`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def case(self, name: str, expected: Expected) -> Callable:
        def added(run: Callable[[], Seen]) -> Callable[[], Seen]:
            self.append(Case(self.name, name, run, expected))
            return run

        return added
