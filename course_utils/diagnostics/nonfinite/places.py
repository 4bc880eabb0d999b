"""Finds where in the source an operation was called: the library's line and the user's own.

Walks Python frames; it never reads a file until a place is printed.
"""

import linecache
import os
import sys
import sysconfig
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

import torch

from course_utils.diagnostics.libraries.frames import BACKWARD

HERE = str(Path(__file__).parent) + os.sep
LIBRARIES = str(Path(__file__).parents[1] / "libraries") + os.sep
COURSE = str(Path(__file__).parents[2]) + os.sep
TORCH = str(Path(torch.__file__).parent) + os.sep
OPTIMIZERS = TORCH + "optim" + os.sep
STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


@dataclass(frozen=True)
class Place:
    """One source line.

    >>> print(Place(file="train.py", line=3))
    train.py:3
    """

    file: str
    line: int

    def __str__(self) -> str:
        code = linecache.getline(self.file, self.line).strip()
        return f"{_short(self.file)}:{self.line}" + (f": {code}" if code else "")


@dataclass(frozen=True)
class Places:
    """The innermost line outside torch, and the innermost line outside all packages."""

    line: Place | None = None
    caller: Place | None = None


def _short(file: str) -> str:
    for folder in PACKAGES:
        if folder in file:
            return file.rpartition(folder)[2]
    if "ipykernel_" in file:  # a notebook cell: the kernel's file name differs in each session
        return "cell"
    here = os.getcwd() + os.sep
    return file.removeprefix(here) if file.startswith(here) else os.path.basename(file)


@cache
def _origin(file: str) -> str:
    """Whose file it is: "skip" for torch, the standard library, this folder and `libraries`."""
    if file.startswith(OPTIMIZERS) and not file.endswith(f"{os.sep}optimizer.py"):
        return "package"  # the formula of an optimizer is worth showing, its base class is not
    if file.startswith((HERE, LIBRARIES, TORCH, "<frozen")):
        return "skip"
    if any(folder in file for folder in PACKAGES):
        return "package"
    return "skip" if file.startswith(STDLIB) else "user"


def _starts_backward(frame: FrameType) -> bool:
    return frame.f_code.co_name == BACKWARD


def find_places() -> Places:
    """The places of the running operation; no line if the autograd engine called it directly.

    Frames outside the call to the engine belong to whoever called backward(), so they count
    for the caller only.
    """
    line = caller = None
    in_engine = False
    frame = sys._getframe(1)
    while frame is not None and caller is None:
        origin = _origin(frame.f_code.co_filename)
        in_engine = in_engine or _starts_backward(frame)
        if origin != "skip":
            place = Place(file=frame.f_code.co_filename, line=frame.f_lineno)
            line = line or (None if in_engine else place)
            caller = place if origin == "user" else None
        frame = frame.f_back
    return Places(line=line, caller=caller)


def own_line(error: BaseException) -> str:
    """The innermost line of the traceback in somebody's own code, or ""."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    own = (
        f
        for f in frames
        if not f.filename.startswith((STDLIB, COURSE, "<"))
        and not any(folder in f.filename for folder in PACKAGES)
    )
    return next((str(Place(f.filename, f.lineno)) for f in own if f.lineno), "")
