"""Writes files atomically, so that a full disk never destroys an earlier version."""

import contextlib
import itertools
import os
import threading
from pathlib import Path

from course_utils.errors import NotSaved


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path`; on any error the old one is untouched and nothing is left over.

    Raises:
        OSError: the disk is full, or the folder cannot be written to.
    """
    path = path.resolve()  # a link stays a link
    if path.exists() and not path.is_file():  # /dev/stdout must be written to, never replaced
        path.write_text(text, encoding="utf-8")
        return
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def save(path: Path, text: str) -> None:
    """Write `text` to `path`, making its folder where needed, or say why that is impossible.

    Raises:
        NotSaved: the disk is full, or the folder cannot be written to.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Path(folder) / "new" / "scores.json", "{}")
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise NotSaved(
            f"{path} could not be written: {error.strerror or error}",
            why="nothing was replaced: what was there before is still there",
            fix="free some space, or make the folder writable, then run the same command again",
        ) from error


def new_folder(parent: Path) -> Path:
    """Make the first of parent/001, parent/002, ... that does not exist yet.

    Raises:
        NotSaved: it cannot be made.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(1):
            with contextlib.suppress(FileExistsError):  # another call may have just made it
                (made := parent / f"{number:03d}").mkdir()
                return made
    except OSError as error:
        raise NotSaved(
            f"no folder could be made in {parent}: {error.strerror or error}",
            why="the results of this call belong into one of their own",
            fix="free some space, make the folder writable, or name another one with --out",
        ) from error
