"""Finds what holds answers to tickets on this machine: checkouts of the course, and its copies.

A checkout is hidden whole, and its package is put back without the rooms that hold answers: so
what comes to lie there later is hidden as well. What nobody can find from here, such as the course
in an environment of another Python, is not known.
"""

import json
import os
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from course_utils.box.kind import PACKAGE
from course_utils.files.repository import INSTALLED

ROOT = PACKAGE.parent
NAME = "brokenruns"
IN_PACKAGE = ("oncall", "exercises/lesson_99")  # of the package, with cases, fixes and spreads


def checkouts() -> list[Path]:
    """This checkout, where it is one, the one that is installed from, and their other work trees.

    Those that hold others come first.
    """
    found = [ROOT, *(folder for one in distributions(name=NAME) for folder in installed_from(one))]
    own = {folder for folder in found if (folder / "solutions").is_dir()}
    every = own.union(*(work_trees(folder) for folder in own))
    return sorted((folder for folder in every if folder.is_dir()), key=lambda one: len(one.parts))


def installed_from(of: Distribution) -> list[Path]:
    """The folder on this machine that it was installed from, if it was."""
    url = urlsplit(json.loads(of.read_text("direct_url.json") or "{}").get("url", ""))
    return [Path(url2pathname(url.path))] if url.scheme == "file" else []


def work_trees(checkout: Path) -> set[Path]:
    """All work trees of the repository, and its history where that lies elsewhere."""
    git = checkout / ".git"
    if git.is_file():  # of a work tree: it names its part of the repository
        git = checkout / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        common = git / "commondir"
        git = git / common.read_text(encoding="utf-8").strip() if common.is_file() else git
    git = Path(os.path.normpath(git))
    others = [
        Path(one.read_text(encoding="utf-8").strip()) for one in git.glob("worktrees/*/gitdir")
    ]
    first = git.parent if git.name == ".git" else git
    return {first, *(one.parent for one in others)} if git.is_dir() else set()


def shown(away: list[Path]) -> list[Path]:
    """What must be seen although it lies in one of these folders: the package, and Python."""
    needed = dict.fromkeys((PACKAGE, Path(sys.base_prefix), Path(sys.prefix)))
    needed |= dict.fromkeys(path.resolve() for path in list(needed))
    return [path for path in needed if any(path.is_relative_to(folder) for folder in away)]


def answers() -> list[Path]:
    """The rooms of the package, here and where it is installed, and the installed lessons."""
    packages, lessons = {PACKAGE}, {INSTALLED}
    for one in distributions(name=NAME):
        packages.add(Path(one.locate_file(PACKAGE.name)))
        lessons |= {installed_lessons(one)} - {None}
    rooms = (package / room for package in packages for room in IN_PACKAGE)
    return [path for path in (*rooms, *lessons) if path.is_dir()]


def installed_lessons(of: Distribution) -> Path | None:
    """Where it has put the lessons, if it has."""
    for file in of.files or ():
        if INSTALLED.name in file.parts:
            parts = file.parts[: file.parts.index(INSTALLED.name) + 1]
            return Path(os.path.normpath(of.locate_file(Path(*parts))))
    return None
