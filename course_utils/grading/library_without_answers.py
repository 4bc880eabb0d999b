"""Copies the library without its right answers, for the box: once per version."""

import shutil
from pathlib import Path

from course_utils.box.kind import PACKAGE
from course_utils.exercises import lesson_numbers
from course_utils.exercises.outline import outline

# What knows answers, verdicts or how they are compared.
LEFT_OUT = {
    *("exercises", "incidents", "oncall", "lesson/claims.py", "lesson/handle.py"),
    *("checks/broken_script.py", "checks/compare.py", "checks/letters.py", "checks/probes.py"),
    *("checks/quiz.py", "checks/settings.py"),
}
EXERCISES = '''"""Inside the box: how many lessons there are, and none of their exercises."""


def lesson_numbers() -> list[str]:
    return {numbers!r}
'''
OUTLINE = '''"""Inside the box: what the map of the course shows."""

from course_utils.checks.declare import Entry


def outline() -> tuple[Entry, ...]:
    return {entries!r}
'''


def strip(folder: Path) -> Path:
    """Copy the library to `folder` / course_utils without exercises; the folder."""
    package = folder / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=_left_out)
    exercises = package / "exercises"
    exercises.mkdir()
    text = EXERCISES.format(numbers=lesson_numbers())
    (exercises / "__init__.py").write_text(text, encoding="utf-8")
    text = OUTLINE.format(entries=outline())
    (exercises / "outline.py").write_text(text, encoding="utf-8")
    inside = PACKAGE / "grading" / "judge" / "lesson_in_box.py"
    shutil.copy2(inside, package / "lesson" / "handle.py")
    return folder


def _left_out(folder: str, names: list[str]) -> set[str]:
    here = Path(folder).relative_to(PACKAGE)
    return {name for name in names if (here / name).as_posix() in LEFT_OUT or name == "__pycache__"}
