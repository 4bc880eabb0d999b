"""A broken script as its owner reports it, made of named functions that can be replaced."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from course_utils.errors import BadRequest

Parts = dict[str, Callable]


@dataclass(frozen=True, repr=False)
class Ticket:
    """The owner's report on a script, and the script itself.

    A lesson's own kind says which causes are to choose from, and makes its runs.
    """

    causes: ClassVar[dict[str, str]]
    imports: ClassVar[tuple[str, ...]] = ()

    report: str
    parts: Parts

    def fresh(self, seed: int = 0, **changes: Callable) -> Any:
        """The run from its start, with other functions in place of the named parts.

        Raises:
            BadRequest: a change names no part.
        """
        if unknown := set(changes) - set(self.parts):
            raise BadRequest(
                f"the script has no part {', '.join(sorted(unknown))}",
                why="a function under any other name takes no part's place, and changes nothing",
                fix=f"name the place: one of {', '.join(self.parts)}",
            )
        return self.run(self.parts | changes, seed)

    def run(self, parts: Parts, seed: int) -> Any:
        raise NotImplementedError

    def import_lines(self) -> tuple[str, ...]:
        """The lines that import what the parts use."""
        return self.imports

    def source(self) -> str:
        """The code of every part, under the part's name, after the imports that the parts use."""
        imports = "".join(f"{line}\n" for line in self.import_lines())
        texts = [_named(part, function) for part, function in self.parts.items()]
        return "\n\n".join([imports, *texts] if imports else texts)

    def __repr__(self) -> str:
        causes = "\n".join(f"  {letter}) {cause}" for letter, cause in self.causes.items())
        return f"{self.report}\nPlaces: {', '.join(self.parts)}.\nCauses:\n{causes}"


def _named(part: str, function: Callable) -> str:
    """The function's code under the part's name, which gives no fault away."""
    return inspect.getsource(function).replace(f"def {function.__name__}(", f"def {part}(", 1)
