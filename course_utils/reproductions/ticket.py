"""A broken script as its owner reports it; it is made of named parts, functions one may replace."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

Parts = dict[str, Callable]


@dataclass(frozen=True, repr=False)
class Ticket:
    """What the owner of a script reports, and the script to look into.

    A lesson's own kind says which causes are to choose from, and makes its runs.
    """

    causes: ClassVar[dict[str, str]]
    imports: ClassVar[tuple[str, ...]] = ()

    report: str
    parts: Parts

    def fresh(self, seed: int = 0, **changes: Callable) -> Any:
        """The run from its start, with other functions in place of the named parts."""
        return self.run(self.parts | changes, seed)

    def run(self, parts: Parts, seed: int) -> Any:
        raise NotImplementedError

    def source(self) -> str:
        """The code of every part, after the imports that the parts use."""
        imports = ["\n".join(self.imports) + "\n"] if self.imports else []
        return "\n".join([*imports, *map(inspect.getsource, self.parts.values())])

    def __repr__(self) -> str:
        causes = "\n".join(f"  {letter}) {cause}" for letter, cause in self.causes.items())
        return f"{self.report}\nPlaces: {', '.join(self.parts)}.\nCauses:\n{causes}"
