"""Reads a submitted notebook. Checks its size before parsing; executes and changes nothing."""

import errno
import os
import stat
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from course_utils.errors import BadNotebook
from course_utils.grading import bounded_json
from course_utils.grading.printable import as_text, printable
from course_utils.notebook.lesson_source import ANSWER

MIB = 2**20
MAX_BYTES = 32 * MIB  # a lesson with all its figures has 3
MAX_CELLS, MAX_SOURCE_CHARS = 2_000, 500_000
MAX_CODE_CHARS = 300_000  # of all cells; a lesson has 23,000
KINDS = {"code": "code", "markdown": "markdown", "raw": "raw", "heading": "markdown"}


@dataclass(frozen=True)
class SubmittedCell:
    """One cell. `id`, `role` and `exercise` are what the file says: a hint, never a proof."""

    source: str
    id: str = ""
    kind: str = "code"  # "code", "markdown" or "raw"
    role: str = ""
    exercise: str = ""


@dataclass(frozen=True)
class Submission:
    """One notebook of one student. All text in it can be encoded as UTF-8."""

    student: str
    lesson: str  # the file stem the notebook names; "" when it names none
    version: str  # of the lesson it was made from; "" when it names none
    cells: tuple[SubmittedCell, ...]
    notes: tuple[str, ...] = ()


def read_submission(path: Path, where: str = "", student: str = "") -> Submission:
    """The notebook at `path`; messages call it `where`.

    Raises:
        BadNotebook: it is not a regular file, is too large, cut off, or not a notebook.
    """
    return parse(read_bytes(path, where), where or str(path), student)


def read_bytes(path: Path, where: str = "") -> bytes:
    """The content of the regular file at `path`, up to MAX_BYTES; refuses links, pipes, devices.

    Raises:
        BadNotebook: it is something else, too large, or cannot be read.
    """
    where = where or str(path)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _bad(where, "is no regular file", "only plain files are read")
            data = file.read(MAX_BYTES + 1) if status.st_size <= MAX_BYTES else b""
            size = max(status.st_size, len(data))
    except OSError as error:
        raise _unreadable(where, error) from error
    except ValueError as error:  # a NUL in the name
        raise _bad(where, "cannot be read", str(error)) from error
    if size > MAX_BYTES:
        why = f"it has {size / MIB:.0f} MiB, and {MAX_BYTES // MIB} are read"
        raise _bad(where, "is too large", why)
    return data


def parse(data: bytes, where: str, student: str = "") -> Submission:
    """The notebook that `data` holds; `where` is its name in messages.

    Raises:
        BadNotebook: it is cut off, too large once parsed, or no notebook.
    """
    try:
        notebook = bounded_json.parse(data)
    except bounded_json.Refused as error:
        raise _bad(where, error.saw, error.why) from error
    raw_cells = _raw_cells(notebook, where)
    cells = tuple(_cell(raw, where, n) for n, raw in enumerate(raw_cells, start=1))
    cells = _without_copies(cells, where)
    num_chars = sum(len(cell.source) for cell in cells if cell.kind == "code")
    if num_chars > MAX_CODE_CHARS:
        why = f"its code has {num_chars} characters, and {MAX_CODE_CHARS} are read"
        raise _bad(where, "is too large", why, "hand in the lesson without long texts in its code")
    named = _course(notebook)
    replaced = [str(n) for n, raw in enumerate(raw_cells, start=1) if _lacks_text(raw)]
    note = f"cells with characters that are no text, each replaced: {', '.join(replaced[:20])}"
    return Submission(
        as_text(student),
        lesson=_name(named, "lesson"),
        version=_name(named, "version"),
        cells=cells,
        notes=(note,) if replaced else (),
    )


def _without_copies(cells: tuple[SubmittedCell, ...], where: str) -> tuple[SubmittedCell, ...]:
    """The cells; a text cell whose id another cell has loses it.

    Raises:
        BadNotebook: an answer has the id of another cell of code.
    """
    counts = Counter(cell.id for cell in cells if cell.kind == "code" and cell.id)
    for cell in cells:
        if cell.role == ANSWER and cell.kind == "code" and counts[cell.id] > 1:
            raise _bad(
                where,
                f"holds {counts[cell.id]} cells with the id {cell.id!r}",
                "nobody can tell which of them is meant",
                "delete all but one of them; copying a cell in JupyterLab gives it a new id",
            )
    kept = []
    for cell in cells:
        is_copy = cell.kind != "code" and counts[cell.id] > 0
        kept.append(replace(cell, id="", role="", exercise="") if is_copy else cell)
        counts[cell.id] += bool(cell.id)
    return tuple(kept)


def _raw_cells(notebook: object, where: str) -> list:
    if not isinstance(notebook, dict):
        raise _not_one(where, "it is JSON, but holds no list of cells")
    major = notebook.get("nbformat", 4)
    if type(major) is not int or not 3 <= major <= 4:
        raise _not_one(where, f"it has nbformat {major!r}, and 3 and 4 are known", SAVE_AS_4)
    cells = notebook.get("cells")
    if major == 3:
        sheets = notebook.get("worksheets")
        sheet = sheets[0] if isinstance(sheets, list) and sheets else None
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
    if not isinstance(cells, list):
        raise _not_one(where, "it is JSON, but holds no list of cells")
    if len(cells) > MAX_CELLS:
        raise _bad(where, "is too large", f"it has {len(cells)} cells, and {MAX_CELLS} are read")
    return cells


def _cell(raw: object, where: str, number: int) -> SubmittedCell:
    kind = raw.get("cell_type") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise _invalid(where, f"cell {number} is of no known kind: {kind!r}")
    source = _source(raw)
    if source is None:
        raise _invalid(where, f"the source of cell {number} is no text")
    if len(source) > MAX_SOURCE_CHARS:
        why = f"cell {number} has {len(source)} characters, and {MAX_SOURCE_CHARS} are read"
        raise _bad(where, "is too large", why)
    named = _course(raw)
    return SubmittedCell(
        as_text(source),
        id=_name(raw, "id"),
        kind=KINDS[kind],
        role=_name(named, "role"),
        exercise=_name(named, "exercise"),
    )


def _source(raw: dict) -> str | None:
    """The text of a cell: one string or a list of them, named `input` in nbformat 3."""
    source = raw.get("source", raw.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return source if isinstance(source, str) else None


def _lacks_text(raw: dict) -> bool:
    source = _source(raw)
    return any("\ud800" <= character <= "\udfff" for character in source)


def _course(node: dict) -> dict:
    metadata = node.get("metadata")
    found = metadata.get("course") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _name(data: dict, key: str) -> str:
    value = data.get(key)
    return as_text(value) if isinstance(value, str) and len(value) <= 200 else ""


SAVE_AS_4 = "open it in a current JupyterLab and save it again"
HAND_IN_AGAIN = "hand in the notebook file that JupyterLab saved"


def _bad(where: object, saw: str, why: str, fix: str = HAND_IN_AGAIN) -> BadNotebook:
    return BadNotebook(f"{printable(str(where))} {printable(saw)}", why=printable(why), fix=fix)


def _not_one(where: object, why: str, fix: str = HAND_IN_AGAIN) -> BadNotebook:
    return _bad(where, "is not a notebook", why, fix)


def _invalid(where: object, why: str) -> BadNotebook:
    return _bad(where, "is not a valid notebook", why)


def _unreadable(where: object, error: OSError) -> BadNotebook:
    if error.errno == errno.ELOOP:
        return _bad(where, "is a link", "a link may point at anything, so none is followed")
    if error.errno == errno.ENXIO:
        return _bad(where, "is no regular file", "only plain files are read")
    if isinstance(error, FileNotFoundError):
        return _bad(where, "does not exist", "there is no file of that name")
    if isinstance(error, IsADirectoryError):
        return _bad(where, "is a folder", "only plain files are read")
    return _bad(where, "cannot be read", error.strerror or str(error))
