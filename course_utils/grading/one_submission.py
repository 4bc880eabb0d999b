"""Grades one submission: its code runs in a box, its scores are decided outside.

Holds one pair of warm processes, those of the lesson that was graded last.
"""

import atexit
import os
from collections.abc import Iterator

from course_utils.box.kind import NO_SANDBOX_ENV, OPEN, Kind, find_kind, no_box
from course_utils.checks.declare import Exercise, Lesson
from course_utils.files.repository import Repository
from course_utils.grading.grade_cache import GradeCache
from course_utils.grading.handout import load_handout
from course_utils.grading.judge import syntax_trees
from course_utils.grading.judge.client import Box
from course_utils.grading.merge import Merged, merge
from course_utils.grading.repair import repaired
from course_utils.grading.result import Score, Scores
from course_utils.grading.submission import Submission
from course_utils.notebook.execute import Limits

NOT_GRADED = "not graded"
_WARM: dict[tuple[str, Kind], Box] = {}


def grade_one(
    repository: Repository, submission: Submission, limits: Limits, known: GradeCache | None = None
) -> Scores:
    """Grade `submission`, whose `lesson` is one of the repository's. Changes no file.

    A lesson's cells that were edited, moved or deleted are taken from the lesson's source, and only
    those that an answer needs are run.

    Args:
        known: verdicts on answers that were graded before; without walls there are none.

    Raises:
        BadNotebook: the submission is at fault, and the text says how.
        Exception: any other means that this machine is at fault; it is tried again.
    """
    syntax_trees.forget()
    handout = load_handout(repository.source_path(submission.lesson))
    lesson = handout.source.lesson
    submission = repaired(handout, submission)
    merged = merge(handout, submission)
    kind, cells = _kind(), code_cells(merged)
    wanted = [e.id for e in lesson.exercises if e.id not in merged.missing]
    known = known if kind.has_walls else None  # without them an answer may write where it likes
    found = known.scores(lesson, cells, wanted) if known else {}
    if left := [number for number in wanted if number not in found]:
        for told in _judged(lesson, kind, cells, left, limits):
            found[told["exercise"]] = told
            if known:
                known.keep(lesson, cells, told)
    scores = tuple(_score(e, merged, found, limits) for e in lesson.exercises)
    return Scores(lesson.stem, scores, (*submission.notes, *merged.notes))


def _judged(
    lesson: Lesson, kind: Kind, cells: list[dict], wanted: list[str], limits: Limits
) -> Iterator[dict]:
    try:
        yield from _box(lesson, kind).scores(cells, wanted, limits)
    except Exception:
        close()
        raise


def close() -> None:
    """End the warm processes."""
    while _WARM:
        _WARM.popitem()[1].close()


atexit.register(close)


def _kind() -> Kind:
    """The box of this machine.

    Raises:
        Unsupported: it can make none, and nobody said that it may do without.
    """
    if os.environ.get(NO_SANDBOX_ENV):
        return OPEN
    kind = find_kind()
    if not kind.has_walls:
        raise no_box(kind)
    return kind


def _box(lesson: Lesson, kind: Kind) -> Box:
    if (lesson.number, kind) not in _WARM:
        close()
        reads = {exercise.name: exercise.reads for exercise in lesson.exercises}
        _WARM[lesson.number, kind] = Box(lesson.number, reads, kind)
    return _WARM[lesson.number, kind]


def code_cells(merged: Merged) -> list[dict]:
    """The cells for a judge: each cell of code with its source, role and exercise.

    Of a lesson's own cell that was edited also, as `theirs`, what the student made of it.
    """
    named = ("source", "role", "exercise")
    return [
        {name: getattr(cell, name) for name in named}
        | ({} if cell.theirs is None else {"theirs": cell.theirs})
        for cell in merged.cells
        if cell.kind == "code"
    ]


def _score(exercise: Exercise, merged: Merged, found: dict[str, dict], limits: Limits) -> Score:
    told = found.get(exercise.id)
    if exercise.id in merged.missing:
        outcome, details = NOT_GRADED, ("its answer cell is missing",)
    elif told is None:
        limit = f"the notebook did not finish within {limits.notebook_s:g} s"
        outcome, details = NOT_GRADED, (f"its check was not reached: {limit}",)
    else:
        unmet = (f"not met: {says}" for says in told["unmet"])
        outcome, details = told["outcome"], (*unmet, *told["details"])
    points = exercise.points if outcome == "passed" else 0
    return Score(exercise.id, exercise.title, outcome, points, exercise.points, details)
