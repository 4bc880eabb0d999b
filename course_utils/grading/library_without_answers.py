"""A copy of the library without any right answer, for the box: made once per version."""

import shutil
from pathlib import Path

from course_utils.box.kind import PACKAGE
from course_utils.exercises import lesson_numbers
from course_utils.exercises.outline import outline

# Of `exercises/`, what says nothing about any exercise.
KEPT = ("declare.py", "calls.py", "handed.py")
LEFT_OUT = ("exercises", "oncall", "claims.py", "__pycache__", "lesson.py", "scripts")
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
    for name in KEPT:
        shutil.copy2(PACKAGE / "exercises" / name, exercises / name)
    inside = PACKAGE / "grading" / "judge" / "lesson_inside.py"
    shutil.copy2(inside, package / "lesson.py")
    return folder


def _left_out(folder: str, names: list[str]) -> set[str]:
    is_top = Path(folder) == PACKAGE
    return {name for name in names if name in LEFT_OUT and (is_top or name == "__pycache__")}
