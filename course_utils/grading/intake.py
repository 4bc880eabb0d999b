"""Which files of a folder are whose submission. Reads names only, never a file, follows no link."""

import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_utils.errors import BadRequest
from course_utils.grading.printable import printable

# What platforms leave. Each is matched at the start of a path below the folder; `id` is the
# student, `name` as people write it, and of several with one `assignment` the last `time` counts.
PRESETS = {
    # "Ada Lovelace_12345_assignsubmission_file_/03.ipynb", or the same as one file's name
    "moodle": r"(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_file_",
    # nbgrader's exchange, inbound: "ada+03_reward_nan+2026-11-22 01:15:40 UTC+ab12/"
    "exchange": r"(?P<id>[^/+]+)\+(?P<assignment>[^/+]+)\+(?P<time>[^/+]+)[^/]*/",
    # nbgrader after `nbgrader collect`, below "submitted/": "ada/03_reward_nan/"
    "nbgrader": r"(?P<id>[^/]+)/(?P<assignment>[^/]+)/",
    # GitHub Classroom: "post-training-ada/"
    "classroom": r"{prefix}(?P<id>[^/]+)/",
    # a folder a student, such as the homes that nbgitpuller filled; or one file each
    "name": r"(?P<id>[^/]+?)(?:\.ipynb$|/)",
}
IGNORED = re.compile(r"\.(?!\.).*|__MACOSX|__pycache__|.*\.before-reset-\d+\.ipynb", re.DOTALL)
MAX_FOLDERS, MAX_ENTRIES, MAX_NOTEBOOKS = 12, 20_000, 50  # of one student
NOTEBOOKS = "notebooks"


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
    if pattern in (None, "nbgrader") and (folder / "submitted").is_dir():
        folder = folder / "submitted"
    try:
        names = sorted(name for name in os.listdir(folder) if not IGNORED.fullmatch(name))
    except OSError as error:
        raise BadRequest(
            f"{folder} cannot be read: {error.strerror}",
            why="the submissions are taken from it",
            fix="name a folder, or a notebook file",
        ) from error
    chosen = pattern or _detect(folder, names)
    regex = _compiled(chosen, names)
    handins, notes = [], []
    for unit in (unit for name in names for unit in _units(folder, name, regex)):
        found, unknown = _of_unit(folder, unit, regex)
        handins += found
        notes += [f"{printable(name)} is nobody's by this pattern: left out" for name in unknown]
    handins, superseded = _latest(handins)
    notes += [f"{one.below} is older than another of the same student" for one in superseded]
    return Intake(tuple(one for one, _ in handins), chosen, tuple(notes))


def shard(handins: tuple[Handin, ...], part: int, parts: int) -> tuple[Handin, ...]:
    """Part `part` of `parts`, counted from 1. The same on every machine, whatever is there."""
    return tuple(h for h in handins if int(h.key[-8:], 16) % parts == part - 1)


def _detect(folder: Path, names: list[str]) -> str:
    folders = [name for name in names if (folder / name).is_dir()]
    if any(re.match(PRESETS["moodle"], name) for name in names):
        return "moodle"
    if any(re.match(PRESETS["exchange"], f"{name}/") for name in folders):
        return "exchange"
    if folder.name == "submitted":
        return "nbgrader"
    return "classroom" if len(folders) > 1 and _prefix(folders) else "name"


def _prefix(names: list[str]) -> str:
    """What all names have in common, up to its last hyphen: the assignment of a Classroom."""
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common[: common.rfind("-") + 1]


def _compiled(pattern: str, names: list[str]) -> re.Pattern:
    text = PRESETS.get(pattern, pattern)
    if pattern == "classroom":
        text = text.replace("{prefix}", re.escape(_prefix(names)))
    try:
        regex = re.compile(text)
    except re.error as error:
        raise _bad_pattern(pattern, f"it is no regular expression: {error}") from error
    if "id" not in regex.groupindex:
        raise _bad_pattern(pattern, "it has no group (?P<id>...)")
    return regex


def _bad_pattern(pattern: str, why: str) -> BadRequest:
    known = ", ".join(PRESETS)
    return BadRequest(
        f"--student {pattern!r} is no pattern",
        why=why,
        fix=rf"give one of {known}, or such as '(?P<id>\w+)_.*\.ipynb'",
    )


def _units(folder: Path, name: str, regex: re.Pattern) -> list[str]:
    """The students' folders: the entry `name`, or what is one or two levels below it."""
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
    """The submissions of one student, each with its match, and the paths that are nobody's."""
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
    """Everything named *.ipynb below `top`, whatever it is; in a course, its notebooks/ only.

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
        course = [e for e in entries if e.name == NOTEBOOKS and e.is_dir(follow_symlinks=False)]
        for entry in sorted(course or entries, key=lambda entry: entry.name):
            if entry.name.endswith(".ipynb"):
                found += 1
                if found > MAX_NOTEBOOKS:
                    raise OverflowError(f"holds more than {MAX_NOTEBOOKS} notebooks")
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                left.append((Path(entry.path), depth + 1))


def _latest(handins: list) -> tuple[list, list[Handin]]:
    """Of the same student, assignment and file name, the last by time; and the others."""
    last: dict[tuple, tuple[str, str]] = {}
    for handin, match in handins:
        if time := match.groupdict().get("time"):
            same = (match["id"], match["assignment"], handin.path.name)
            last[same] = max(last.get(same, ("", "")), (time, handin.below))
    kept, older = [], []
    for handin, match in handins:
        groups = match.groupdict()
        same = (groups["id"], groups.get("assignment"), handin.path.name)
        is_older = groups.get("time") and last[same][1] != handin.below
        older += [handin] if is_older else []
        kept += [] if is_older else [(handin, match)]
    return kept, older


def _from(path: Path, relative: str, match: re.Match, problem: str = "") -> Handin:
    groups = match.groupdict()
    return _handin(path, relative, groups["id"] or "", groups.get("name") or "", problem)


def _handin(path: Path, below: str, student: str, name: str, problem: str = "") -> Handin:
    digest = hashlib.sha256(os.fsencode(below)).hexdigest()[:16]
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", student)[:40].strip("-") or "student"
    return Handin(path, printable(below), f"{slug}-{digest}", student, name, problem)
