"""The list of common faults: an ordinary run with one thing changed, or a loop of one's own."""

from collections.abc import Callable
from dataclasses import dataclass

FAULTS: dict[str, "Fault"] = {}


@dataclass(frozen=True)
class Fault:
    """One fault: how it is made, and the causes of the catalogue that name it.

    `make(folder)` gives a Trainer; for a loop, `make(watching)` runs it inside `watching(...)`.
    """

    name: str
    causes: frozenset[str]
    is_loop: bool
    needs_run: bool  # a look before training does not show it
    is_open: bool  # nothing names it yet
    has_twin: bool  # `make(..., healthy=True)` is the same run without the fault
    make: Callable


def fault(
    name: str,
    causes: str,
    *,
    is_loop: bool = False,
    needs_run: bool = False,
    is_open: bool = False,
    has_twin: bool = False,
):
    """Declare a function as a fault, with the keys of the causes that would be right."""

    def declare(make: Callable) -> Callable:
        assert name not in FAULTS, f"two faults are called {name}"
        found = frozenset(causes.split())
        FAULTS[name] = Fault(name, found, is_loop, needs_run, is_open, has_twin, make)
        return make

    return declare
