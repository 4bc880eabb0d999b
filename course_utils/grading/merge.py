"""Builds the notebook to grade: the lesson's own cells with the student's answers in them.

Edited, deleted or added checks change nothing: every cell but the answers is the lesson's.
"""

from dataclasses import dataclass

from nbformat import NotebookNode, v4

from course_utils.grading.submission import Submission, SubmittedCell
from course_utils.notebook.derive import course_metadata, student_notebook
from course_utils.notebook.lesson_source import ANSWER, CHECK, LESSON, STUDENTS, LessonSource


@dataclass(frozen=True)
class Merged:
    """The notebook to execute, the exercises without an answer cell, and remarks."""

    notebook: NotebookNode
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def merge(source: LessonSource, submission: Submission) -> Merged:
    """Put the student's answers, and the cells she added, into the lesson.

    `submission` is repaired: each cell that is one of the lesson's has its id. One of another
    version of the lesson is graded against the current one, as far as its answers are there.
    """
    merged, notes, missing = student_notebook(source), [], []
    theirs = {cell.id: cell for cell in submission.cells if cell.id}
    if submission.version != source.version:
        notes.append(_version_note(submission))
    for cell in merged.cells:
        if cell.id in theirs and course_metadata(cell)["role"] in STUDENTS:
            cell.source = theirs[cell.id].source
        elif cell.id in theirs and theirs[cell.id].source != cell.source:
            cell.metadata.theirs = theirs[cell.id].source  # read for what it draws, never run
        elif cell.id not in theirs and course_metadata(cell)["role"] == ANSWER:
            missing.append(course_metadata(cell)["exercise"])
    notes += [f"there is no answer cell of exercise {number}" for number in missing]
    merged.cells = _with_added(merged, submission, is_current=submission.version == source.version)
    return Merged(merged, tuple(missing), tuple(notes))


def _version_note(submission: Submission) -> str:
    if submission.version:
        return "the notebook was made from another version of the lesson than this one"
    return "the notebook does not say from which version of the lesson it was made"


def _with_added(
    merged: NotebookNode, submission: Submission, *, is_current: bool
) -> list[NotebookNode]:
    """The lesson's cells, each followed by the code cells that the student put after it."""
    ids = {cell.id for cell in merged.cells}
    added, after = {"": []}, ""
    for cell in submission.cells:
        if cell.id in ids:
            after = cell.id
        elif cell.kind == "code" and (is_current or not _was_lessons(cell)):
            # A new id, because nothing of hers may pass for a cell of the lesson.
            added.setdefault(after, []).append(v4.new_code_cell(cell.source))
    cells = list(added[""])
    for cell in merged.cells:
        cells += [cell, *added.get(cell.id, [])]
    return cells


def _was_lessons(cell: SubmittedCell) -> bool:
    return cell.role in (LESSON, CHECK)
