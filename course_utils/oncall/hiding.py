"""What a program of the bench must not see, because it holds answers to tickets.

A checkout is hidden whole, and its package is put back without the rooms that hold answers: so
what comes to lie there later is hidden as well.
"""

import sys
from pathlib import Path

from course_utils.box.kind import PACKAGE
from course_utils.files.checkouts import lessons, packages

IN_PACKAGE = ("oncall", "exercises/lesson_99")  # of the package, with cases, fixes and spreads


def shown(away: list[Path]) -> list[Path]:
    """What must be seen although it lies in one of these folders: the package, and Python."""
    needed = dict.fromkeys((PACKAGE, Path(sys.base_prefix), Path(sys.prefix)))
    needed |= dict.fromkeys(path.resolve() for path in list(needed))
    return [path for path in needed if any(path.is_relative_to(folder) for folder in away)]


def answers() -> list[Path]:
    """The rooms of the package, here and where it is installed, and the installed lessons."""
    rooms = [package / room for package in packages() for room in IN_PACKAGE]
    return [path for path in (*rooms, *lessons()) if path.is_dir()]
