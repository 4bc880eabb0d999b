"""Finds what of the course lies on this machine: checkouts, and installed copies. Changes nothing.

What nobody can find from here, such as the course in an environment of another Python, is not
known.
"""

import json
import os
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from course_utils.files.repository import INSTALLED

PACKAGE = Path(__file__).parents[1]
NAME = "brokenruns"


def checkouts() -> list[Path]:
    """This checkout, where it is one, the one that is installed from, and their other work trees.

    Those that hold others come first.
    """
    found = [PACKAGE.parent]
    found += [folder for one in distributions(name=NAME) for folder in installed_from(one)]
    own = {folder for folder in found if (folder / "solutions").is_dir()}
    every = own.union(*(work_trees(folder) for folder in own))
    return sorted((folder for folder in every if folder.is_dir()), key=lambda one: len(one.parts))


def packages() -> list[Path]:
    """This package, and those that are installed."""
    found = [PACKAGE, *(Path(one.locate_file(PACKAGE.name)) for one in distributions(name=NAME))]
    return [path for path in dict.fromkeys(found) if path.is_dir()]


def lessons() -> list[Path]:
    """Where installed courses have put their lessons."""
    found = [INSTALLED, *(installed_lessons(one) for one in distributions(name=NAME))]
    return [path for path in dict.fromkeys(found) if path is not None and path.is_dir()]


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
    named = (one.read_text(encoding="utf-8").strip() for one in git.glob("worktrees/*/gitdir"))
    first = git.parent if git.name == ".git" else git
    return {first, *(Path(one).parent for one in named)} if git.is_dir() else set()


def installed_lessons(of: Distribution) -> Path | None:
    """Where it has put the lessons, if it has."""
    for file in of.files or ():
        if INSTALLED.name in file.parts:
            parts = file.parts[: file.parts.index(INSTALLED.name) + 1]
            return Path(os.path.normpath(of.locate_file(Path(*parts))))
    return None
