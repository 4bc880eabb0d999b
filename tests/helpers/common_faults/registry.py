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
    says: str  # a word of the report that shows that this fault was seen
    is_loop: bool
    make: Callable


def fault(name: str, causes: str, says: str = "", *, is_loop: bool = False):
    """Declare a function as a fault, with the keys of the causes that would be right."""

    def declare(make: Callable) -> Callable:
        assert name not in FAULTS, f"two faults are called {name}"
        FAULTS[name] = Fault(name, frozenset(causes.split()), says, is_loop, make)
        return make

    return declare
