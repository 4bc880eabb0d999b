"""The notebook that is graded: the lesson's own cells around what the student wrote.

Edited, deleted or added checks change nothing: every cell but the answers is the lesson's.
"""

from dataclasses import dataclass

from nbformat import NotebookNode, v4

from course_utils.errors import BadNotebook
from course_utils.notebook.derive import course_metadata, student_notebook
from course_utils.notebook.lesson_source import ANSWER, CHECK, LESSON, STUDENTS, LessonSource


@dataclass(frozen=True)
class Merged:
    """The notebook to execute, the exercises without an answer cell, and what was noticed."""

    notebook: NotebookNode
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def merge(source: LessonSource, theirs: NotebookNode, where: str) -> Merged:
    """Put the student's answers, and the cells she added, into the lesson.

    A notebook of another version of the lesson is graded against the current one, as far as
    its answer cells are still there.

    Raises:
        BadNotebook: two cells claim to be the answer of one exercise.
    """
    merged, notes, missing = student_notebook(source), [], []
    is_current = course_metadata(theirs).get("version") == source.version
    if not is_current:
        notes.append(f"{where} was made from another version of the lesson than this one")
    found: dict[str, NotebookNode] = {}  # the student's cell for each of the lesson's ids
    for cell in merged.cells:
        match = _find(cell, theirs, where)
        if match is not None:
            found[cell.id] = match
            if course_metadata(cell)["role"] in STUDENTS:
                cell.source = match.source
        elif course_metadata(cell)["role"] == ANSWER:
            missing.append(course_metadata(cell)["exercise"])
    notes += [f"{where} has no answer cell of exercise {number}" for number in missing]
    merged.cells = _with_added(merged, theirs, found, is_current=is_current)
    return Merged(merged, tuple(missing), tuple(notes))


def _find(cell: NotebookNode, theirs: NotebookNode, where: str) -> NotebookNode | None:
    """The student's copy of a lesson cell: by its id, else, for an answer, by its exercise."""
    for candidate in theirs.cells:
        if candidate.get("id") == cell.id:
            return candidate
    role = course_metadata(cell)
    if role["role"] != ANSWER:
        return None
    answers = [c for c in theirs.cells if course_metadata(c) == role]
    if len(answers) > 1:
        raise BadNotebook(
            f"{where} has {len(answers)} answer cells of exercise {role['exercise']}",
            why="the original is gone, and nobody can tell which copy is meant",
            fix="delete all but one of them",
        )
    return answers[0] if answers else None


def _with_added(
    merged: NotebookNode, theirs: NotebookNode, found: dict, *, is_current: bool
) -> list[NotebookNode]:
    """The lesson's cells, each followed by the code cells that the student put after it."""
    own_ids = {match.get("id"): lesson_id for lesson_id, match in found.items()}
    added, after = {"": []}, ""
    for cell in theirs.cells:
        if cell.get("id") in own_ids:
            after = own_ids[cell.get("id")]
        elif cell.cell_type == "code" and (is_current or not _was_lessons(cell)):
            # A new id, because nothing of hers may pass for a cell of the lesson.
            added.setdefault(after, []).append(v4.new_code_cell(cell.source))
    cells = list(added[""])
    for cell in merged.cells:
        cells += [cell, *added.get(cell.id, [])]
    return cells


def _was_lessons(cell: NotebookNode) -> bool:
    return course_metadata(cell).get("role") in (LESSON, CHECK)
