"""Writes a call to a file, so that another process can make it."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from course_utils.diagnostics.processes.packages import dill
from course_utils.errors import BadRequest


class _Packer(dill.Pickler):
    """Pickles a module by its name: dill would copy everything in a module outside lib/."""

    def reducer_override(self, value: object) -> object:
        if isinstance(value, ModuleType) and value.__name__ != "__main__":
            return importlib.import_module, (value.__name__,)
        return NotImplemented


def pack(function: Callable, arguments: tuple, path: Path) -> Path:
    """Write the call to a file that `child_side` loads; returns the file."""
    try:
        # recurse: of a notebook's variables, only those that the function names travel with it
        with path.open("wb") as file:
            _Packer(file, recurse=True).dump((function, arguments))
    except Exception as error:
        name = getattr(function, "__qualname__", repr(function))
        raise BadRequest(
            f"{name} cannot be sent to a child process: {type(error).__name__}: {error}",
            why="a child has its own memory, so the function and its arguments must be copied",
            fix="build models, trainers and files inside the function, from plain arguments",
        ) from error
    return path
