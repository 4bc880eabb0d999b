"""One submission, one set of scores, from the lesson's own checks in a fresh kernel.

Fair play is assumed of answers: they run in the same kernel as the checks, so this is no
sandbox. What counts is only what the lesson's own check cells report with this run's secret.
"""

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from course_utils.checking import Outcome
from course_utils.errors import CourseError
from course_utils.exercises.declare import Exercise
from course_utils.grading.merge import Merged, merge
from course_utils.grading.repair import repaired
from course_utils.grading.result import Score, Scores
from course_utils.grading.submission import Submission
from course_utils.lesson import GRADING_ENV, GRADING_MIME
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.execute import Execution, Job, Limits, execute
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.notebook.lesson_source import ANSWER, CHECK, LessonSource, load_source
from course_utils.notebook.repository import Repository
from course_utils.progress import ENV_NAME

NOT_GRADED = "not graded"


def grade_one(repository: Repository, submission: Submission, limits: Limits) -> Scores:
    """Grade `submission`, whose `lesson` is one of the repository's. Changes no file.

    It is called many times in one process (course_utils.grading.worker), in its main thread, one
    submission after the other. What it keeps between calls must not depend on a submission. It
    runs in an empty folder and with an empty progress file. A lesson's cells that were edited,
    moved or deleted are taken from the lesson's source.

    Raises:
        BadNotebook: the submission is at fault, and the text says how.
        Exception: any other means that this machine is at fault; it is tried again.
    """
    source = load_source(repository.source_path(submission.lesson))
    submission = repaired(source, submission)
    merged, secret = merge(source, submission), secrets.token_hex()
    with tempfile.TemporaryDirectory() as scratch:
        executed, execution = _execute(merged.notebook, Path(scratch), secret, limits)
    scores = tuple(_scores(source, merged, executed, execution, secret))
    notes = (*submission.notes, *merged.notes, *_end_note(merged.notebook, execution))
    return Scores(source.stem, scores, notes)


def _execute(notebook: NotebookNode, scratch: Path, secret: str, limits: Limits):
    """Run `notebook` in an empty folder below `scratch`.

    Raises:
        RuntimeError: it broke before its first cell, which no submission can bring about.
    """
    folder = scratch / "folder"
    folder.mkdir()
    job = Job(
        name="submission",
        source=scratch / "merged.ipynb",
        target=scratch / "graded.ipynb",
        folder=folder,
        num_cells=len(notebook.cells),
        env={ENV_NAME: str(scratch / "progress.json"), GRADING_ENV: secret},
        allow_errors=True,
    )
    write_notebook(job.source, notebook)
    [execution] = execute([job], limits, lambda *_: None)
    if execution.problems and execution.problems[0].cell == 0:
        raise RuntimeError(execution.problems[0].message)
    try:
        return read_notebook(job.target), execution
    except CourseError:  # an answer got at it; execution.problems says how the run ended
        return notebook, execution


def _scores(
    source: LessonSource, merged: Merged, executed: NotebookNode, execution: Execution, secret: str
) -> Iterator[Score]:
    problems = _problems_by_role(merged.notebook, execution)
    reports = _reports(executed, secret)
    for exercise in source.lesson.exercises:
        answer_problem = problems.get((exercise.id, ANSWER))
        check_problem = problems.get((exercise.id, CHECK))
        if exercise.id in merged.missing:
            yield _score(exercise, NOT_GRADED, "its answer cell is missing")
        elif exercise.id in reports and not check_problem:
            report = reports[exercise.id]
            unmet = (f"not met: {says}" for says in report["unmet"])
            yield _score(exercise, report["outcome"], *unmet, *report["details"])
        elif answer_problem:
            yield _score(exercise, Outcome.RAISED, f"its answer cell: {answer_problem}")
        elif check_problem:
            yield _score(exercise, NOT_GRADED, f"its check cell: {check_problem}")
        else:
            why = "said nothing" if execution.is_complete else "was not reached"
            yield _score(exercise, NOT_GRADED, f"its check {why}")


def _score(exercise: Exercise, outcome: str, *details: str) -> Score:
    points = exercise.points if outcome == Outcome.PASSED else 0
    return Score(exercise.id, exercise.title, str(outcome), points, exercise.points, details)


def _problems_by_role(notebook: NotebookNode, execution: Execution) -> dict:
    """What failed in answer and check cells, by exercise and role."""
    problems = {problem.cell: problem.message for problem in execution.problems}
    roles = [course_metadata(cell) for cell in notebook.cells]
    return {
        (role["exercise"], role["role"]): problems[number]
        for number, role in enumerate(roles, start=1)
        if number in problems and role.get("role") in (ANSWER, CHECK)
    }


def _reports(executed: NotebookNode, secret: str) -> dict[str, dict]:
    """What the lesson's own check cells reported, by exercise."""
    reports = {}
    for cell in executed.cells:
        role = course_metadata(cell)
        if role.get("role") != CHECK:
            continue
        for output in cell.outputs:
            report = output.get("data", {}).get(GRADING_MIME)
            if not isinstance(report, dict) or report.get("secret") != secret:
                continue
            if report["exercise"] == role["exercise"]:
                reports[role["exercise"]] = report
    return reports


def _end_note(notebook: NotebookNode, execution: Execution) -> list[str]:
    if execution.is_complete:
        return []
    problem = execution.problems[-1]
    line = notebook.cells[problem.cell - 1].source.strip().partition("\n")[0]
    return [f"The grading ended early, in the cell that begins {line!r}: {problem.message}"]
