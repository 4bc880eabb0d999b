"""Finds each student's submission in a folder, by names only. Opens no file, follows no link."""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_utils.errors import BadRequest
from course_utils.grading.layouts import (
    PRESETS,
    compiled,
    detect,
    is_nbgrader,
    is_notebook,
)
from course_utils.grading.printable import printable

IGNORED = re.compile(r"\.(?!\.).*|__MACOSX|__pycache__|.*\.before-reset-\d+\.ipynb", re.DOTALL)
MAX_FOLDERS, MAX_ENTRIES, MAX_NOTEBOOKS = 12, 20_000, 50  # of one student
NOTEBOOKS, SOLUTIONS = "notebooks", "solutions"


@dataclass(frozen=True)
class Handin:
    """One submission before it is read. `problem` says why there is nothing to read."""

    path: Path
    below: str  # the path below the folder, as it is shown
    key: str  # no two have the same, and every file system can hold it
    student: str
    name: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Intake:
    """All submissions of a folder, by path, and how they were told apart."""

    handins: tuple[Handin, ...]
    pattern: str  # the preset's name, or the pattern that was given
    notes: tuple[str, ...] = ()


def of_files(paths: list[Path]) -> list[Handin]:
    """Single notebooks, named one by one."""
    return [_handin(path, str(path), path.stem, "") for path in paths]


def of_folder(folder: Path, pattern: str | None = None) -> Intake:
    """Every submission below `folder`.

    Args:
        pattern: a preset's name, or a regular expression with the group `id`; by default the
            preset that the names of the folders speak for.

    Raises:
        BadRequest: the folder cannot be read, or the pattern is none.
    """
    names = _entries(folder)
    if "submitted" in names and (pattern == "nbgrader" or (not pattern and is_nbgrader(names))):
        folder = folder / "submitted"
        names = _entries(folder)
    chosen = pattern or detect(folder, names)
    regex = compiled(chosen, names)
    handins, notes = [], []
    for unit in (unit for name in names for unit in _units(folder, name, regex)):
        found, unknown = _of_unit(folder, unit, regex)
        lost = [name for name in unknown if chosen in PRESETS and is_notebook(name)]
        handins += [*found, *(_nobodys(folder, name, chosen) for name in lost)]
        left_out = [printable(name) for name in unknown if name not in lost]
        notes += [f"{name} is nobody's by this pattern: left out" for name in left_out]
    handins, superseded = _latest(handins)
    notes += [f"{one.below} is older than another of the same student" for one in superseded]
    return Intake(tuple(one for one, _ in handins), chosen, tuple(notes))


def shard(handins: tuple[Handin, ...], part: int, parts: int) -> tuple[Handin, ...]:
    """Part `part` of `parts`, counted from 1. The same on every machine, whatever is there."""
    return tuple(h for h in handins if int(h.key[-8:], 16) % parts == part - 1)


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not IGNORED.fullmatch(name))
    except OSError as error:
        raise BadRequest(
            f"{folder} cannot be read: {error.strerror}",
            why="the submissions are taken from it",
            fix="name a folder, or a notebook file",
        ) from error


def _units(folder: Path, name: str, regex: re.Pattern) -> list[str]:
    """The students' folders: the entry `name`, or folders one or two levels below it."""
    level = [name]
    for _ in range(3):
        if matching := [one for one in level if regex.match(f"{one}/")]:
            return matching
        level = [f"{one}/{n}" for one in level for n in _subfolders(folder / one)]
    return [name]


def _subfolders(folder: Path) -> list[str]:
    try:
        if folder.is_symlink() or not folder.is_dir():
            return []
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.is_dir() and not IGNORED.fullmatch(e.name))
    except OSError:  # it is met again, and then said, when its notebooks are looked for
        return []


def _of_unit(folder: Path, unit: str, regex: re.Pattern):
    """The submissions of one student with their matches, and the paths of nobody."""
    top, as_folder = folder / unit, regex.match(f"{unit}/")
    if top.is_symlink() or not top.is_dir():
        match = regex.match(unit) or (as_folder if top.is_dir() else None)
        return ([(_from(top, unit, match), match)], []) if match else ([], [unit])
    try:
        below, problem = [path.relative_to(folder) for path in _notebooks(top)], "holds no notebook"
    except OverflowError as error:
        below, problem = [], str(error)
    except OSError as error:
        below, problem = [], f"cannot be read: {error.strerror}"
    matches = [(str(path), regex.match(path.as_posix())) for path in below]
    found = [(_from(folder / path, path, match), match) for path, match in matches if match]
    unknown = [path for path, match in matches if not match]
    if not below and as_folder:
        found = [(_from(top, unit, as_folder, problem), as_folder)]
    return found, unknown if below or as_folder else [unit]


def _notebooks(top: Path) -> Iterator[Path]:
    """Every *.ipynb below `top`, of any kind; in a course, without its solutions/.

    Raises:
        OverflowError: there is more than one student can have.
    """
    left, seen, found = [(top, 0)], 0, 0
    while left:
        folder, depth = left.pop()
        entries = []
        with os.scandir(folder) as scanned:
            for entry in scanned:
                seen += 1
                if seen > MAX_ENTRIES or depth > MAX_FOLDERS:
                    raise OverflowError(f"holds more than {MAX_ENTRIES} files, or too deep folders")
                entries += [] if IGNORED.fullmatch(entry.name) else [entry]
        is_course = any(e.name == NOTEBOOKS and e.is_dir(follow_symlinks=False) for e in entries)
        for entry in sorted(entries, key=lambda entry: entry.name):
            if is_course and entry.name == SOLUTIONS:
                continue
            if is_notebook(entry.name):
                found += 1
                if found > MAX_NOTEBOOKS:
                    raise OverflowError(f"holds more than {MAX_NOTEBOOKS} notebooks")
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                left.append((Path(entry.path), depth + 1))


def _latest(handins: list) -> tuple[list, list[Handin]]:
    """The latest of those with the same student, assignment and file name; and the others."""
    last: dict[tuple, tuple[str, str]] = {}
    for handin, match in handins:
        if time := match and match.groupdict().get("time"):
            same = (match["id"], match["assignment"], handin.path.name)
            last[same] = max(last.get(same, ("", "")), (time, handin.below))
    kept, older = [], []
    for handin, match in handins:
        groups = match.groupdict() if match else {}
        same = (groups.get("id"), groups.get("assignment"), handin.path.name)
        is_older = groups.get("time") and last[same][1] != handin.below
        older += [handin] if is_older else []
        kept += [] if is_older else [(handin, match)]
    return kept, older


def _nobodys(folder: Path, name: str | Path, preset: str) -> tuple[Handin, None]:
    """A notebook that does not fit the others' pattern: it gets a result like every other."""
    problem = f"is nobody's by --student {preset}, which most names fit"
    return _handin(folder / name, str(name), Path(name).parts[0], "", problem), None


def _from(path: Path, relative: str, match: re.Match, problem: str = "") -> Handin:
    groups = match.groupdict()
    return _handin(path, relative, groups["id"] or "", groups.get("name") or "", problem)


def _handin(path: Path, below: str, student: str, name: str, problem: str = "") -> Handin:
    digest = hashlib.sha256(os.fsencode(below)).hexdigest()[:16]
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", student)[:40].strip("-") or "student"
    return Handin(path, printable(below), f"{slug}-{digest}", student, name, problem)
