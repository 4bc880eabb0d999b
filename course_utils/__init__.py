"""The library of the course: what lessons import, and instruments for broken runs of your own.

Importing it is cheap and imports no torch. Its rooms, each with a README of one screen:

    what a student meets   lesson, checks, exercises, concepts, notebook
    what breaks            incidents, reproductions, oncall
    what finds it          causes, explain, diagnostics, numerics, gemma3
    who runs it            commands, grading
    ground                 shown, zoo, files, box, and errors

Imports run one way, from the roof to the ground: tests/course/test_house.py holds the floors.
"""

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path

__version__ = "0.1.0"

# Where notebooks and scripts of before the rooms look for a module, and where it is.
MOVED = {
    "eras": "reproductions.eras",
    "failures": "lesson.expected_failures",
    "figures": "shown.figures",
    "mixed_precision": "zoo.mixed_precision",
    "plotting": "shown.plotting",
    "progress": "files.progress",
    "report": "shown.report",
    "step_cost": "zoo.step_cost",
    "symptoms": "lesson.symptoms",
    "training": "zoo.training",
    "working": "shown.progress_line",
    "wrap": "shown.wrap",
    "diagnostics.cublas": "diagnostics.processes.cublas",
    "oncall.handing_in": "oncall.hand_in",
}


class _Moved(MetaPathFinder, Loader):
    """Finds a module under the name that it had before, as the same module object."""

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if _new_name(name) else None

    def create_module(self, spec):
        module = importlib.import_module(_new_name(spec.name))
        self._own_specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module):
        """It has run already; the import system has only given it a second spec."""
        module.__spec__ = self._own_specs.pop(module.__spec__.name)

    def __init__(self):
        self._own_specs = {}


def _new_name(name: str) -> str | None:
    package, _, old = name.partition(".")
    if package != __name__:
        return None
    first, _, below = old.partition(".")
    if first == "reproductions" and below and "." not in below:  # they lie by lesson now
        homes = Path(__file__).parent.glob(f"reproductions/lesson_*/{below}.py")
        return next((f"{name.removesuffix(below)}{home.parent.name}.{below}" for home in homes), "")
    if old in MOVED:
        return f"{package}.{MOVED[old]}"
    return f"{package}.{MOVED[first]}.{below}" if first in MOVED and below else None


sys.meta_path.append(_Moved())
