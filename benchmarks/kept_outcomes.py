"""Outcomes kept between the parts of a benchmark, each with a hash of the code that made it.

An outcome is taken again when the sources that made it are no longer what they were.
"""

import hashlib
import pickle
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from benchmarks.diagnostics.tools import Outcome

SOURCES = Path(__file__).parents[1] / "course_utils"
OF_DIAGNOSE = ("diagnostics", "explain")  # folders


class Kept:
    """Outcomes by run and tool, in a file; without a file they live as long as this does."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        is_there = file is not None and file.exists()
        self._held: dict[tuple[str, ...], tuple[str, Outcome]] = (
            pickle.loads(file.read_bytes()) if is_there else {}
        )

    def get(self, run: str, tool: str, module: str) -> Outcome | None:
        """The outcome of a tool on a run; None if there is none for the current sources."""
        made_of, outcome = self._held.get((run, tool), ("", None))
        return outcome if made_of == fingerprint(tool, module) else None

    def put(self, run: str, tool: str, module: str, outcome: Outcome) -> None:
        """Keep an outcome, in the file as well."""
        self._held[run, tool] = (fingerprint(tool, module), outcome)
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_bytes(pickle.dumps(self._held))


@cache
def fingerprint(tool: str, module: str) -> str:
    """A hash of the sources that an outcome depends on.

    Args:
        module: where the run is declared, such as "broken/pad_is_eos".
    """
    files = [SOURCES / "incidents" / f"{module}.py"]
    files += sorted((SOURCES / "incidents").glob("*.py"))  # without what stands below
    files += _below(("reproductions",))
    if tool == "diagnose":
        files += _below(OF_DIAGNOSE)
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _below(folders: Iterable[str]) -> list[Path]:
    return [file for folder in folders for file in sorted((SOURCES / folder).rglob("*.py"))]
