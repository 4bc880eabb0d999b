"""Reads and writes notebooks, and says in one sentence why one cannot be read."""

import json
import shutil
from collections import Counter
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_utils.errors import BadNotebook, NotSaved
from course_utils.files.saving import save

BUILD_AGAIN = "run `course build` for the course's own notebooks, `course reset LESSON` for yours"


def read_notebook(path: Path) -> NotebookNode:
    """The notebook at `path`.

    Raises:
        BadNotebook: it is missing, unreadable, cut off, not a notebook, or two of its cells
            have the same id.
    """
    data = _read_json(path)
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise _bad(path, "is not a notebook", why="it is JSON, but holds no list of cells")
    ids = Counter(cell.get("id") for cell in data["cells"] if isinstance(cell, dict))
    twice = [cell_id for cell_id, count in ids.items() if cell_id is not None and count > 1]
    if twice:
        raise BadNotebook(
            f"{path} holds {ids[twice[0]]} cells with the id {twice[0]!r}",
            why="nobody can tell which of them is meant, so nothing is done with either",
            fix="delete all but one of them; copying a cell in JupyterLab gives it a new id",
        )
    try:
        _, notebook = nbformat.validator.normalize(nbformat.v4.to_notebook(data))
        nbformat.validate(notebook)
    except (nbformat.ValidationError, KeyError, AttributeError, TypeError) as error:
        first_line = str(getattr(error, "message", error)).partition("\n")[0]
        raise _bad(path, "is not a valid notebook", why=first_line[:200]) from error
    return notebook


def write_notebook(path: Path, notebook: NotebookNode) -> None:
    """Write `notebook` to `path` atomically.

    Raises:
        NotSaved: the disk is full, or the folder cannot be written to.
    """
    save(path, f"{nbformat.writes(notebook)}\n")


def keep_aside(path: Path) -> Path:
    """Copy the notebook at `path` to the next free `NAME.before-reset-1.ipynb`.

    Raises:
        NotSaved: the disk is full, or the folder cannot be written to.
    """
    number = 1
    while (kept := path.with_name(f"{path.stem}.before-reset-{number}.ipynb")).exists():
        number += 1
    try:
        shutil.copy2(path, kept)
    except OSError as error:
        kept.unlink(missing_ok=True)
        raise NotSaved(
            f"{path} could not be copied: {error.strerror or error}",
            why="your copy is kept before anything is replaced, so nothing was done",
            fix="free some space, or make the folder writable",
        ) from error
    return kept


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise _bad(path, "does not exist", why="there is no file of that name") from error
    except OSError as error:
        raise _bad(path, "cannot be read", why=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _bad(path, "is not a notebook", why="a notebook is text, this is not") from error
    except json.JSONDecodeError as error:
        why = f"its JSON breaks at line {error.lineno}: {error.msg}; it may have been cut off"
        raise _bad(path, "is not a notebook", why=why) from error


def _bad(path: Path, what: str, *, why: str) -> BadNotebook:
    return BadNotebook(f"{path} {what}", why=why, fix=BUILD_AGAIN)
