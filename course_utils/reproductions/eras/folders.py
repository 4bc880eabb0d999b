"""The folders of the throw-away environments: finds, makes and removes them. Installs nothing."""

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

ENV_NAME = "COURSE_ERAS"  # another folder for the environments
BUILDING = ".building-"


def cache_folder() -> Path:
    """Where all environments are: COURSE_ERAS, else a folder in the user's cache.

    >>> cache_folder().is_absolute()
    True
    """
    if named := os.environ.get(ENV_NAME):
        return Path(named).resolve()
    at_home = {"Windows": "AppData/Local", "Darwin": "Library/Caches"}
    default = Path.home() / at_home.get(platform.system(), ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "course-eras"


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Path]:
    """A temporary folder that replaces `path` if the block succeeds, and is deleted if not."""
    folder = Path(tempfile.mkdtemp(prefix=BUILDING, dir=path.parent))
    try:
        yield folder
        os.replace(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def remove_unfinished() -> None:
    """Delete what a killed build left; only under the lock."""
    for folder in cache_folder().glob(f"{BUILDING}*"):
        shutil.rmtree(folder, ignore_errors=True)


def size_of(path: Path) -> int:
    """Bytes on disk, without links."""
    files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)


def built(lock: str) -> list[Path]:
    """The folders of one lock's environments, those of older locks and Pythons too."""
    return sorted(cache_folder().glob(f"{lock}-" + "[0-9a-f]" * 12))


def remove(locks: list[str]) -> list[Path]:
    """Delete the environments of these locks, and what a killed build left."""
    root = cache_folder()
    if not root.exists():
        return []
    with FileLock(root / ".lock"):
        remove_unfinished()
        found = [folder for lock in locks for folder in built(lock)]
        for folder in found:
            shutil.rmtree(folder)
    return found
