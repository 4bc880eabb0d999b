"""Points for one student's notebook, from the lesson's own checks in a fresh kernel.

Fair play is assumed of answers: they run in the same kernel as the checks, so this is no
sandbox. What counts is only what the lesson's own check cells report with this run's secret.
"""

import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from course_utils.checking import Outcome
from course_utils.errors import BadNotebook, CourseError
from course_utils.exercises.declare import Exercise
from course_utils.lesson import GRADING_ENV, GRADING_MIME
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.execute import Execution, Job, Limits, OnCell, execute
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.notebook.lesson_source import ANSWER, CHECK, LessonSource, load_source
from course_utils.notebook.merge import Merged, merge
from course_utils.notebook.repository import Repository
from course_utils.progress import ENV_NAME
from course_utils.report import Report, Table

NOT_GRADED = "not graded"


@dataclass(frozen=True)
class Graded:
    """One exercise: an outcome of the check, or NOT_GRADED, and why."""

    exercise: Exercise
    outcome: str
    details: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        return self.exercise.points if self.outcome == Outcome.PASSED else 0

    def to_dict(self) -> dict:
        exercise = self.exercise
        return {
            "exercise": exercise.id,
            "title": exercise.title,
            "outcome": self.outcome,
            "points": self.points,
            "of": exercise.points,
            "details": list(self.details),
        }


@dataclass(frozen=True)
class Grade(Report):
    """All exercises of one notebook."""

    path: Path
    lesson: str
    graded: tuple[Graded, ...]
    notes: tuple[str, ...]

    @property
    def points(self) -> int:
        return sum(item.points for item in self.graded)

    @property
    def of(self) -> int:
        return sum(item.exercise.points for item in self.graded)

    @property
    def headline(self) -> str:
        return f"{self.path}: {self.points} of {self.of} points"

    def table(self) -> Table:
        rows = []
        for item in self.graded:
            points = f"{item.points} of {item.exercise.points}"
            rows.append((item.exercise.id, item.exercise.title, item.outcome, points))
            rows += [("", detail, "", "") for detail in item.details]
        columns = ("exercise", "title", "outcome", "points")
        return Table(columns=columns, rows=rows, notes=self.notes)

    def to_dict(self) -> dict:
        return {
            "notebook": str(self.path),
            "lesson": self.lesson,
            "points": self.points,
            "of": self.of,
            "notes": list(self.notes),
            "exercises": [item.to_dict() for item in self.graded],
        }


def grade_notebook(repository: Repository, path: Path, limits: Limits, on_cell: OnCell) -> Grade:
    """Grade the notebook at `path`. It is only read.

    It runs in an empty folder and with an empty progress file. A lesson's cells that were
    edited, moved or deleted are taken from the lesson's source.

    Raises:
        BadNotebook: it cannot be read, or is no notebook of this course.
    """
    theirs = read_notebook(path)
    source = load_source(repository.source_path(_lesson_of(theirs, path, repository)))
    merged, secret = merge(source, theirs, path.name), secrets.token_hex()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "folder"
        folder.mkdir()
        job = Job(
            name=path.stem,
            source=Path(scratch) / "merged.ipynb",
            target=Path(scratch) / "graded.ipynb",
            folder=folder,
            num_cells=len(merged.notebook.cells),
            env={ENV_NAME: str(Path(scratch) / "progress.json"), GRADING_ENV: secret},
            allow_errors=True,
        )
        write_notebook(job.source, merged.notebook)
        [execution] = execute([job], limits, on_cell)
        try:
            executed = read_notebook(job.target)
        except CourseError:  # it broke before its first cell; execution.problems says why
            executed = merged.notebook
    graded = tuple(_graded(source, merged, executed, execution, secret))
    return Grade(path, source.stem, graded, (*merged.notes, *_end_note(merged.notebook, execution)))


def _lesson_of(notebook: NotebookNode, path: Path, repository: Repository) -> str:
    stem = course_metadata(notebook).get("lesson")
    if stem in repository.stems():
        return stem
    saw = "is no notebook of this course" if stem is None else f"is of another course: {stem!r}"
    raise BadNotebook(
        f"{path} {saw}",
        why="only a notebook that `course build` or `course reset` made says which lesson it is",
        fix="grade a copy of one in notebooks/, or paste your answers into a new one",
    )


def _graded(
    source: LessonSource, merged: Merged, executed: NotebookNode, execution: Execution, secret: str
):
    problems = _problems_by_role(merged.notebook, execution)
    reports = _reports(executed, secret)
    for exercise in source.lesson.exercises:
        answer_problem = problems.get((exercise.id, ANSWER))
        check_problem = problems.get((exercise.id, CHECK))
        if exercise.id in merged.missing:
            yield Graded(exercise, NOT_GRADED, ("its answer cell is missing",))
        elif exercise.id in reports and not check_problem:
            report = reports[exercise.id]
            unmet = (f"not met: {says}" for says in report["unmet"])
            yield Graded(exercise, report["outcome"], (*unmet, *report["details"]))
        elif answer_problem:
            yield Graded(exercise, Outcome.RAISED, (f"its answer cell: {answer_problem}",))
        elif check_problem:
            yield Graded(exercise, NOT_GRADED, (f"its check cell: {check_problem}",))
        else:
            why = "said nothing" if execution.is_complete else "was not reached"
            yield Graded(exercise, NOT_GRADED, (f"its check {why}",))


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
    if not problem.cell:
        return [f"The grading ended early: {problem.message}"]
    line = notebook.cells[problem.cell - 1].source.strip().partition("\n")[0]
    return [f"The grading ended early, in the cell that begins {line!r}: {problem.message}"]
