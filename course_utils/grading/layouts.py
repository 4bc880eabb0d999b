"""The file names of teaching platforms, and which platform a folder is from. Reads names only."""

import itertools
import re
from pathlib import Path

from course_utils.errors import BadRequest

# What platforms leave. Each is matched at the start of a path below the folder; `id` is the
# student, `name` as people write it, and of several with one `assignment` the last `time` counts.
MARK = "_assignsubmission_file_"
PRESETS = {
    # "Ada Lovelace_12345_assignsubmission_file_/03.ipynb", or the same as one file's name. The last
    # number counts, because a student may be called anything; in a file's name, so may the rest.
    "moodle": rf"(?![^/]*{MARK}[^/]*{MARK}[^/]+$)(?P<name>[^/]+)_(?P<id>\d+){MARK}"
    rf"(?=/|(?:(?!{MARK})[^/])*$)",
    # nbgrader's exchange, inbound: "ada+03_reward_nan+2026-11-22 01:15:40 UTC+ab12/"
    "exchange": r"(?P<id>[^/+]+)\+(?P<assignment>[^/+]+)\+(?P<time>[^/+]+)[^/]*/",
    # nbgrader after `nbgrader collect`, below "submitted/": "ada/03_reward_nan/"
    "nbgrader": r"(?P<id>[^/]+)/(?P<assignment>[^/]+)/",
    # GitHub Classroom: "post-training-ada/"
    "classroom": r"{prefix}(?P<id>[^/]+)/",
    # one folder per student, such as the homes that nbgitpuller filled; or one file each
    "name": r"(?P<id>[^/]+?)(?:\.(?i:ipynb)$|/)",
}
# What a course of nbgrader's holds beside "submitted/".
OF_NBGRADER = {"source", "release", "submitted", "autograded", "feedback", "exchange"}


def is_nbgrader(names: list[str]) -> bool:
    """Whether a folder with "submitted/" holds nothing that is not nbgrader's."""
    return all(name in OF_NBGRADER or Path(name).suffix in (".py", ".db", ".log") for name in names)


def detect(folder: Path, names: list[str]) -> str:
    """The preset that most names fit, so that no single name decides for the others."""
    folders = [name for name in names if (folder / name).is_dir()]
    entries = [*(f"{name}/" for name in folders), *filter(is_notebook, set(names) - {*folders})]
    for preset in ("moodle", "exchange"):
        fitting = [entry for entry in entries if re.match(PRESETS[preset], entry)]
        if len(fitting) > len(entries) / 2:
            return preset
    if folder.name == "submitted":
        return "nbgrader"
    return "classroom" if len(folders) > 1 and _prefix(folders) else "name"


def compiled(pattern: str, names: list[str]) -> re.Pattern:
    """The expression of a preset, or one that was given.

    Raises:
        BadRequest: it is none, or has no group `id`.
    """
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


def _prefix(names: list[str]) -> str:
    """The common prefix of all names, up to its last hyphen: the assignment of a Classroom."""
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common[: common.rfind("-") + 1]


def is_notebook(name: str | Path) -> bool:
    """Whether a name is a notebook's, in upper or lower case."""
    return str(name).lower().endswith(".ipynb")
