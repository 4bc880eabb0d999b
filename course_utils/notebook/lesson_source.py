"""A lesson as its author wrote it: solutions/NN_name.py, cell by cell, with the role of each."""

import ast
import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from course_utils.checks.declare import Lesson
from course_utils.errors import BadNotebook
from course_utils.exercises import find_lesson
from course_utils.notebook.regions import defined_names, has_region, solved_source, stub_source

# "lesson" is everything the student does not answer; "solution" is not in her copy at all.
ANSWER, PREDICTION, CHECK = "answer", "prediction", "check"
LESSON, SOLUTION = "lesson", "solution"
STUDENTS = (ANSWER, PREDICTION)


@dataclass(frozen=True)
class Cell:
    """One cell of the source. `written` still has its markers."""

    id: str
    kind: str  # "code" or "markdown"
    written: str
    tags: tuple[str, ...]
    where: str  # for messages: "03_reward_nan.py, cell 7"
    role: str = LESSON
    exercise: str = ""  # the id, for answer and check cells

    @cached_property
    def solved(self) -> str:
        return solved_source(self.written, self.where)

    @cached_property
    def stub(self) -> str:
        return stub_source(self.written, self.where)


@dataclass(frozen=True)
class LessonSource:
    """One lesson's cells and its exercises."""

    lesson: Lesson
    cells: tuple[Cell, ...]
    version: str  # of the source, whichever line changed

    @property
    def stem(self) -> str:
        return self.lesson.stem

    def cells_for(self, exercise_id: str, role: str) -> list[Cell]:
        return [cell for cell in self.cells if (cell.exercise, cell.role) == (exercise_id, role)]


def load_source(path: Path) -> LessonSource:
    """Read a lesson and give every cell its id and its role.

    Raises:
        BadNotebook: a region, a check or an answer cell is not as it must be.
        BadRequest: no exercises are declared for it.
    """
    import jupytext  # brings a whole Jupyter server, and only an author's sources need it

    lesson = find_lesson(path.stem)
    text = path.read_text(encoding="utf-8")
    cells, seen = [], Counter()
    for number, raw in enumerate(jupytext.reads(text, fmt="py:percent").cells, start=1):
        digest = hashlib.sha256(f"{raw.cell_type}\n{raw.source}".encode()).hexdigest()[:10]
        seen[digest] += 1  # equal cells are told apart by their order
        cell = Cell(
            id=f"{digest}-{seen[digest]}",
            kind=raw.cell_type,
            written=raw.source,
            tags=tuple(raw.metadata.get("tags", [])),
            where=f"{path.name}, cell {number}",
        )
        cells.append(_with_role(cell, lesson))
    version = hashlib.sha256(text.encode()).hexdigest()[:16]
    return LessonSource(lesson, tuple(cells), version)


def _with_role(cell: Cell, lesson: Lesson) -> Cell:
    answers = has_region(cell.written)
    if answers and (SOLUTION in cell.tags or cell.kind != "code"):
        why = "regions belong into code cells that the student keeps"
        raise _bad(cell, "has a region in text, or in a cell with the tag 'solution'", why)
    if SOLUTION in cell.tags:
        return replace(cell, role=SOLUTION)
    if cell.kind != "code":
        return cell
    checked = _checked_names(cell.written)
    if answers and checked:
        why = "the student may edit an answer cell, and a grade needs the lesson's own check"
        raise _bad(cell, f"has a region and ex.{checked[0]}.check(...)", why)
    if answers:
        return _answer(cell, lesson)
    return _check(cell, lesson, checked) if checked else cell


def _answer(cell: Cell, lesson: Lesson) -> Cell:
    cell.stub  # noqa: B018  raises here, with the cell's place, if no stub can be derived
    names = defined_names(cell.solved)
    answered = [exercise.id for exercise in lesson.exercises if exercise.reads in names]
    if len(answered) > 1:
        raise _bad(cell, f"answers {' and '.join(answered)}", "an answer cell answers one exercise")
    if answered:
        return replace(cell, role=ANSWER, exercise=answered[0])
    return replace(cell, role=PREDICTION)


def _check(cell: Cell, lesson: Lesson, checked: list[str]) -> Cell:
    ids = {exercise.name: exercise.id for exercise in lesson.exercises}
    if len(checked) > 1:
        raise _bad(cell, "checks more than one exercise", "a check cell belongs to one exercise")
    if checked[0] not in ids:
        raise _bad(cell, f"checks ex.{checked[0]}", f"lesson {lesson.number} has {', '.join(ids)}")
    return replace(cell, role=CHECK, exercise=ids[checked[0]])


def _checked_names(source: str) -> list[str]:
    """NAME of every `ex.NAME.check(...)` in a cell, in order."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic or shell line; such a cell cannot be a check
        return []
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        function.value.attr
        for function in calls
        if isinstance(function, ast.Attribute)
        and function.attr == "check"
        and isinstance(function.value, ast.Attribute)
    ]


def _bad(cell: Cell, saw: str, why: str) -> BadNotebook:
    return BadNotebook(f"{cell.where} {saw}", why=why, fix="split the cell, or correct the name")
