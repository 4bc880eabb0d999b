"""`course run`: whole notebooks, executed by papermill, and the score sheet."""

import json
from pathlib import Path

import click
from nbformat import NotebookNode

from course_utils.checks.declare import total_of
from course_utils.commands import options
from course_utils.commands.progress_line import CellProgress
from course_utils.errors import BadNotebook, BadRequest
from course_utils.exercises import find_lesson
from course_utils.files.progress import ENV_NAME, Progress
from course_utils.files.repository import find_repository
from course_utils.files.saving import new_folder, save
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.execute import Execution, Job, Limits, execute
from course_utils.notebook.files import read_notebook
from course_utils.notebook.parameters import read_values
from course_utils.shown.report import Table

SUMMARY, PROGRESS = "summary.json", "progress.json"


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--solutions", is_flag=True, help="Run the solved notebooks; all points are due.")
@click.option(
    "-p",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set a parameter, such as -p FAST true. Repeatable.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the executed notebooks go.  [default: runs/001 and so on]",
)
@options.jobs
@options.limits(cell_s=600.0, notebook_s=1800.0)
@click.pass_context
def run(ctx, lessons, solutions, parameters, out, jobs, cell_limit, limit) -> None:
    """Execute lessons from top to bottom and print the score sheet.

    Your own notebooks and your progress are only read; everything goes into --out.
    """
    repository, progress = find_repository(), CellProgress()
    stems = repository.find(lessons)
    paths = [repository.solved_path(s) if solutions else repository.student_path(s) for s in stems]
    loaded = [_load(stem, path) for stem, path in zip(stems, paths, strict=True)]
    values = [read_values(parameters, notebook, path) for notebook, path in loaded]
    out = _claim(out) if out else new_folder(repository.runs)
    planned = [_job(*of, out) for of in zip(stems, loaded, values, strict=True)]
    if jobs > 1:
        planned.reverse()  # the first lessons are the short ones: they fill the gap at the end
    executions, limits = [], Limits(cell_limit, limit)
    settings = {"solutions": solutions, "parameters": dict(parameters)}
    summary = _save_summary(executions, out, **settings)
    for execution in execute(planned, limits, progress.on_cell, num_parallel=jobs):
        executions.append(execution)
        summary = _save_summary(executions, out, **settings)  # what is finished survives Ctrl-C
        progress.clear()
        state = "FAILED" if execution.problems else "ran to its end"
        click.echo(f"{execution.job.name} {state} in {execution.seconds:.0f} s", err=True)
    click.echo(score_sheet(summary).text())
    click.echo(f"Notebooks and {SUMMARY} are in {out}")
    ctx.exit(int(any(lesson["problems"] for lesson in summary["lessons"])))


def score_sheet(summary: dict) -> Table:
    """Points per exercise of every lesson, the total, and the failures."""
    rows = [
        (lesson["lesson"], e["exercise"], e["title"], e["outcome"], f"{e['points']} of {e['of']}")
        for lesson in summary["lessons"]
        for e in lesson["exercises"]
    ]
    failed = [
        f"{lesson['lesson']} failed: {problem}"
        for lesson in summary["lessons"]
        for problem in lesson["problems"]
    ]
    total = total_of(
        (exercise["part"], exercise["points"], exercise["of"])
        for lesson in summary["lessons"]
        for exercise in lesson["exercises"]
    )
    columns = ("lesson", "exercise", "title", "outcome", "points")
    return Table(columns=columns, rows=rows, title="Score sheet", notes=(*failed, total))


def _load(stem: str, path: Path) -> tuple[NotebookNode, Path]:
    notebook = read_notebook(path)
    held = course_metadata(notebook).get("lesson", "no lesson of this course")
    if held != stem:
        raise BadNotebook(
            f"{path} holds {held}",
            why=f"it should hold {stem}",
            fix=f"move it away and run `course reset {stem[:2]}`",
        )
    return notebook, path


def _job(stem: str, loaded: tuple[NotebookNode, Path], values: dict, out: Path) -> Job:
    notebook, path = loaded
    return Job(
        name=stem,
        source=path,
        target=out / path.name,
        folder=path.parent,
        num_cells=len(notebook.cells),
        parameters=values,
        env={ENV_NAME: str((out / PROGRESS).resolve())},
    )


def _claim(out: Path) -> Path:
    """Take `out` for this run and return it: it must be new, empty or from an earlier run.

    Raises:
        BadRequest: it holds something else, or is not a folder.
        NotSaved: it cannot be written to.
    """
    if out.exists() and not out.is_dir():
        saw = f"--out {out} is a file"
    elif out.exists() and any(out.iterdir()) and not (out / SUMMARY).exists():
        saw = f"--out {out} holds files that are not from an earlier run"
    else:
        save(out / SUMMARY, "{}\n")  # before hours of work, not after
        (out / PROGRESS).unlink(missing_ok=True)
        return out
    raise BadRequest(
        saw,
        why="a run overwrites the notebooks in it",
        fix="name a new or an empty folder",
    )


def _save_summary(executions: list[Execution], out: Path, *, solutions: bool, parameters) -> dict:
    progress = Progress(out / PROGRESS)
    in_order = sorted(executions, key=lambda execution: execution.job.name)
    lessons = [_lesson_summary(e, progress, solutions=solutions) for e in in_order]
    summary = {
        "notebooks": "solutions" if solutions else "notebooks",
        "parameters": parameters,
        "points": sum(lesson["points"] for lesson in lessons),
        "of": sum(lesson["of"] for lesson in lessons),
        "lessons": lessons,
    }
    save(out / SUMMARY, f"{json.dumps(summary, indent=1)}\n")
    return summary


def _lesson_summary(execution: Execution, progress: Progress, *, solutions: bool) -> dict:
    lesson, exercises = find_lesson(execution.job.name), []
    for exercise in lesson.exercises:
        known = progress.exercise(exercise.id)
        exercises.append(
            {
                "exercise": exercise.id,
                "title": exercise.title,
                "part": lesson.part(exercise.id),
                "outcome": known["outcome"],
                "points": known["best"],
                "of": exercise.points,
            }
        )
    points = sum(exercise["points"] for exercise in exercises)
    problems = [str(problem) for problem in execution.problems]
    if solutions and not problems and points < lesson.points:
        problems = [f"the solved notebook has {points} of {lesson.points} points"]
    return {
        "lesson": lesson.stem,
        "seconds": round(execution.seconds, 1),
        "problems": problems,
        "points": points,
        "of": lesson.points,
        "exercises": exercises,
    }
