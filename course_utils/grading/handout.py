"""What students were given: a lesson's source, and the cells of the copy that is made from it."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from course_utils.notebook.derive import course_metadata, student_notebook
from course_utils.notebook.lesson_source import ANSWER, LessonSource, load_source


@dataclass(frozen=True)
class HandoutCell:
    """One cell of a lesson; without role and id, one that a student added.

    Attributes:
        theirs: what the student made of a cell that is not hers to change; read, never run.
    """

    source: str
    id: str = ""
    kind: str = "code"  # or "markdown"
    role: str = ""
    exercise: str = ""
    theirs: str | None = None

    @property
    def is_answer(self) -> bool:
        return self.role == ANSWER


@dataclass(frozen=True)
class Handout:
    """A lesson and its cells, in order."""

    source: LessonSource
    cells: tuple[HandoutCell, ...]


def load_handout(path: Path) -> Handout:
    """The handout of the lesson at `path`; made once as long as the file stays as it is.

    Raises:
        BadNotebook, BadRequest: as `load_source`.
    """
    return _made(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _made(path: Path, _changed: int) -> Handout:
    source = load_source(path)
    return Handout(source, tuple(map(_cell, student_notebook(source).cells)))


def _cell(node) -> HandoutCell:
    return HandoutCell(node.source, node.id, node.cell_type, **course_metadata(node))
