"""Generates both notebooks of a lesson from its source. Executes nothing."""

import hashlib
import json

from nbformat import NotebookNode, v4

from course_utils.exercises.outline import outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.notebook.frame import FrameCell, closing, opening
from course_utils.notebook.lesson_source import ANSWER, LESSON, SOLUTION, Cell, LessonSource
from course_utils.notebook.scaffolding import FOLDED, in_a_frame, is_scaffolding
from course_utils.notebook.warm import KERNEL

# What these show changes with other lessons, so that a build must notice: the cell keeps a digest.
MAPS = ("course_map()", "symptom_map()")
NEW_CELL = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell}


def student_notebook(source: LessonSource) -> NotebookNode:
    """The student's copy: stubs for solutions, no outputs, and a digest of itself."""
    cells = [(cell, cell.stub) for cell in source.cells if cell.role != SOLUTION]
    notebook = _notebook(source, cells)
    notebook.metadata.course.digest = digest(notebook)
    return notebook


def solved_notebook(source: LessonSource) -> NotebookNode:
    """The solved lesson, not yet executed."""
    notebook = _notebook(source, [(cell, cell.solved) for cell in source.cells])
    for cell in notebook.cells:
        if cell.cell_type == "code" and any(name in cell.source for name in MAPS):
            cell.metadata.course.shows = _hash(repr((outline(), SYMPTOMS)))
    return notebook


def digest(notebook: NotebookNode) -> str:
    """A hash over everything a student can change: cells, their order, sources and outputs."""
    content = [(*identity(cell), cell.get("outputs", [])) for cell in notebook.cells]
    return _hash(json.dumps(content, sort_keys=True))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_untouched(notebook: NotebookNode) -> bool:
    """Whether the notebook is as a build made it, so that replacing it loses nothing."""
    return course_metadata(notebook).get("digest") == digest(notebook)


def identity(cell: NotebookNode) -> tuple[str, str, str]:
    return cell.get("id", ""), cell.cell_type, cell.source


def course_metadata(node: NotebookNode) -> dict:
    """The metadata that the course wrote into a notebook or cell; empty for all others."""
    found = node.metadata.get("course", {})
    return found if isinstance(found, dict) else {}


def is_same_lesson(one: NotebookNode, other: NotebookNode) -> bool:
    """Equal cells, and equal metadata where the course wrote it. Outputs are not compared."""
    return _essence(one) == _essence(other)


def _essence(notebook: NotebookNode) -> tuple:
    cells = [
        (identity(cell), course_metadata(cell), cell.metadata.get("tags", []))
        for cell in notebook.cells
    ]
    return cells, course_metadata(notebook)


def _notebook(source: LessonSource, cells: list[tuple[Cell, str]]) -> NotebookNode:
    metadata = {
        "kernelspec": dict(KERNEL),
        "language_info": {"name": "python"},
        "course": {"lesson": source.stem, "version": source.version},
    }
    nodes = [
        *(_frame_node(cell) for cell in opening(source.stem)),
        *(_node(cell, text) for cell, text in cells),
        *(_frame_node(cell) for cell in closing(source.stem)),
    ]
    return v4.new_notebook(metadata=metadata, cells=nodes)


def _frame_node(cell: FrameCell) -> NotebookNode:
    node = NEW_CELL[cell.kind](cell.text, id=cell.id)
    node.metadata.course = {"role": LESSON}
    return node


def _node(cell: Cell, text: str) -> NotebookNode:
    node = NEW_CELL[cell.kind](in_a_frame(text) if cell.kind == "markdown" else text, id=cell.id)
    node.metadata.course = {"role": cell.role}
    if cell.exercise:
        node.metadata.course.exercise = cell.exercise
    if cell.role == ANSWER:
        node.source = f"# Exercise {cell.exercise}: your answer\n{text}"
    folded = cell.role == LESSON and cell.kind == "code" and is_scaffolding(text)
    if folded:
        node.metadata.jupyter = {"source_hidden": True}  # one click on the bar shows it
    tags = [*cell.tags, *([FOLDED] if folded else [])]
    if tags:
        node.metadata.tags = tags
    return node
