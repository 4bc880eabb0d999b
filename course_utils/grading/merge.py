"""Builds the notebook to grade: the lesson's own cells with the student's answers in them.

Edited, deleted or added checks change nothing: every cell but the answers is the lesson's.
"""

from dataclasses import dataclass, replace

from course_utils.grading.handout import Handout, HandoutCell
from course_utils.grading.submission import Submission, SubmittedCell
from course_utils.notebook.lesson_source import CHECK, LESSON, STUDENTS


@dataclass(frozen=True)
class Merged:
    """The notebook to execute, the exercises without an answer cell, and remarks."""

    cells: tuple[HandoutCell, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def merge(handout: Handout, submission: Submission) -> Merged:
    """Put the student's answers, and the cells she added, into the lesson.

    `submission` is repaired: each cell that is one of the lesson's has its id. One of another
    version of the lesson is graded against the current one, as far as its answers are there.
    """
    theirs = {cell.id: cell.source for cell in submission.cells if cell.id}
    is_current = submission.version == handout.source.version
    notes = [] if is_current else [_version_note(submission)]
    missing = [c.exercise for c in handout.cells if c.is_answer and c.id not in theirs]
    notes += [f"there is no answer cell of exercise {number}" for number in missing]
    added, cells = _added(handout, submission, is_current=is_current), []
    for cell in handout.cells:
        cells += [_filled(cell, theirs.get(cell.id)), *added.get(cell.id, [])]
    return Merged((*added[""], *cells), tuple(missing), tuple(notes))


def _filled(cell: HandoutCell, theirs: str | None) -> HandoutCell:
    """A cell of the lesson with what the student wrote in its place, if it is hers to write."""
    if theirs is None or theirs == cell.source:
        return cell
    return replace(cell, **{"source" if cell.role in STUDENTS else "theirs": theirs})


def _version_note(submission: Submission) -> str:
    if submission.version:
        return "the notebook was made from another version of the lesson than this one"
    return "the notebook does not say from which version of the lesson it was made"


def _added(
    handout: Handout, submission: Submission, *, is_current: bool
) -> dict[str, list[HandoutCell]]:
    """The code cells that the student added, by the id of the lesson's cell that they follow."""
    ids = {cell.id for cell in handout.cells}
    added, after = {"": []}, ""
    for cell in submission.cells:
        if cell.id in ids:
            after = cell.id
        elif cell.kind == "code" and (is_current or not _was_lessons(cell)):
            # Without id and role, because nothing of hers may pass for a cell of the lesson.
            added.setdefault(after, []).append(HandoutCell(cell.source))
    return added


def _was_lessons(cell: SubmittedCell) -> bool:
    return cell.role in (LESSON, CHECK)
