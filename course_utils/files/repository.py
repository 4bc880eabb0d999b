"""Finds the course's files. Reads none of them."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from course_utils.errors import BadRequest
from course_utils.files.progress import FILE_NAME

ENV_NAME = "COURSE_ROOT"


# Where an installed wheel puts the lessons; they are read there, never written.
INSTALLED = Path(sys.prefix) / "share" / "post-training-course"


@dataclass(frozen=True)
class Repository:
    """The folder that holds solutions/ and notebooks/."""

    root: Path

    @property
    def runs(self) -> Path:
        """Where executed notebooks go: into the course, or here when it is only installed."""
        return (Path.cwd() if self.root == INSTALLED else self.root) / "runs"

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def progress_path(self) -> Path:
        return self.notebooks / FILE_NAME

    def source_path(self, stem: str) -> Path:
        return self.solutions / f"{stem}.py"

    def solved_path(self, stem: str) -> Path:
        return self.solutions / f"{stem}.ipynb"

    def student_path(self, stem: str) -> Path:
        return self.notebooks / f"{stem}.ipynb"

    def stems(self) -> list[str]:
        """The file stems of all lessons, in order."""
        return sorted(path.stem for path in self.solutions.glob("[0-9][0-9]_*.py"))

    def find(self, names: tuple[str, ...]) -> list[str]:
        """The stems of the lessons named by number or stem; all of them when none is named.

        Raises:
            BadRequest: there is no such lesson.
        """
        stems = self.stems()
        found = {stem for name in names for stem in stems if name in (stem, stem[:2])}
        unknown = [name for name in names if name not in found | {stem[:2] for stem in found}]
        if unknown:
            raise BadRequest(
                f"there is no lesson {unknown[0]!r}",
                why="a lesson is named by number or file stem",
                fix=f"choose one of: {', '.join(stems)}",
            )
        return [stem for stem in stems if stem in found or not names]


def find_repository() -> Repository:
    """The course that this package belongs to, else the one around the current folder.

    The environment variable COURSE_ROOT names another one.

    Raises:
        BadRequest: none of these has a solutions/ folder.

    >>> find_repository().stems()[0]
    '00_start_here'
    """
    if named := os.environ.get(ENV_NAME):
        candidates = [Path(named)]
    else:
        here = Path.cwd()
        candidates = [Path(__file__).parents[2], here, *here.parents, INSTALLED]
    for folder in candidates:
        if (folder / "solutions").is_dir():
            return Repository(folder)
    raise BadRequest(
        f"there is no course in {candidates[0]}, nor around {Path.cwd()}",
        why="the lessons are in a folder named solutions/, and it is missing",
        fix="change into the course's folder, or set COURSE_ROOT to it",
    )
