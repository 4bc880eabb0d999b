"""`course build`: both notebooks of every lesson, from its source."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import nbformat
from nbformat import NotebookNode

from course_utils.commands.progress_line import CellProgress
from course_utils.errors import BadNotebook
from course_utils.files.progress import ENV_NAME
from course_utils.files.repository import Repository, find_repository
from course_utils.files.saving import save
from course_utils.notebook.derive import course_metadata, is_same_lesson, is_untouched
from course_utils.notebook.derive import solved_notebook as derive_solved
from course_utils.notebook.derive import student_notebook as derive_student
from course_utils.notebook.execute import Job, Limits, execute
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.notebook.findings import findings, is_in_work, source_findings
from course_utils.notebook.lesson_source import LessonSource, load_source
from course_utils.notebook.nbgrader_format import CONFIG, nbgrader_notebook
from course_utils.notebook.readme import filled
from course_utils.shown.figures import strict

Solve = Callable[[Repository, LessonSource], NotebookNode]

LIMITS = Limits(cell_s=300, notebook_s=900)


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--check", is_flag=True, help="Change nothing; fail when anything is stale.")
@click.option("--text", is_flag=True, help="Execute nothing: only text changed, outputs stay.")
@click.option("--nbgrader", is_flag=True, help="Make nbgrader's source notebooks, nothing else.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("nbgrader"),
    show_default=True,
    metavar="DIR",
    help="nbgrader's course folder.",
)
@click.pass_context
def build(
    ctx: click.Context,
    lessons: tuple[str, ...],
    check: bool,
    text: bool,
    nbgrader: bool,
    out: Path,
) -> None:
    """Make notebooks/NN_name.ipynb and solutions/NN_name.ipynb from solutions/NN_name.py.

    The solved notebook is executed, unless --text says that only text changed, such as the way
    through the course after a lesson was added. A student's copy that holds work is left alone.
    """
    repository = find_repository()
    if nbgrader:
        build_for_nbgrader(repository, lessons, out)
        return
    problems = []
    for stem in repository.find(lessons):
        if not check:
            try:
                problems += build_lesson(repository, stem, outputs_of if text else solve)
            except BadNotebook as error:  # the other lessons are still built
                problems.append(str(error))
        found = findings(repository, stem)
        problems += found
        if check and not found and is_in_work(repository, stem):
            click.echo(f"notebooks/{stem}.ipynb is in work; the lesson's own cells are current")
    problems += refresh_readme(repository, check=check)
    for problem in dict.fromkeys(problems):
        click.echo(problem, err=True)
    if problems:
        ctx.exit(1)
    click.echo("All generated notebooks are current.")


def build_for_nbgrader(repository: Repository, lessons: tuple[str, ...], out: Path) -> None:
    """Write nbgrader's source notebook of each lesson, and its configuration where it has none.

    Raises:
        BadNotebook: a source is malformed.
        NotSaved: a file could not be written.
    """
    if not (config := out / "nbgrader_config.py").exists():
        save(config, CONFIG)
    for stem in repository.find(lessons):
        notebook = nbgrader_notebook(load_source(repository.source_path(stem)))
        save(path := out / "source" / stem / f"{stem}.ipynb", f"{nbformat.writes(notebook)}\n")
        click.echo(path)


def refresh_readme(repository: Repository, *, check: bool) -> list[str]:
    """Write badges and the table of lessons into the README, or say that it is stale.

    Raises:
        NotSaved: the README could not be written.
    """
    path = repository.root / "README.md"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    wanted = filled(text)
    if wanted == text:
        return []
    if not check:
        save(path, wanted)
        return []
    return ["README.md is stale: run `course build`"]


def build_lesson(repository: Repository, stem: str, solved: Solve) -> list[str]:
    """Build one lesson; returns a sentence when the student's copy was left alone.

    Raises:
        BadNotebook: the source is malformed, or a cell of the solution fails.
        NotSaved: a notebook could not be written.
    """
    source = load_source(repository.source_path(stem))
    if problems := list(source_findings(source)):
        return problems
    problems = _write_student(repository, source)
    write_notebook(repository.solved_path(stem), solved(repository, source))
    return problems


def _write_student(repository: Repository, source: LessonSource) -> list[str]:
    path, wanted = repository.student_path(source.stem), derive_student(source)
    if path.exists():
        present = read_notebook(path)
        if not is_untouched(present):
            number = source.lesson.number
            return [
                f"notebooks/{path.name} holds a student's work and was left alone: "
                f"`course reset {number}` keeps a copy and makes a new one"
            ]
        if is_same_lesson(present, wanted):
            return []
    write_notebook(path, wanted)
    return []


def solve(repository: Repository, source: LessonSource) -> NotebookNode:
    """The solved notebook with its outputs, as a fresh kernel made them.

    Raises:
        BadNotebook: a cell failed; the notebook of the last good build stays.
    """
    notebook, progress = derive_solved(source), CellProgress()
    with tempfile.TemporaryDirectory() as scratch:
        job = Job(
            name=source.stem,
            source=Path(scratch) / "source.ipynb",
            target=Path(scratch) / "target.ipynb",
            folder=repository.solutions,
            num_cells=len(notebook.cells),
            env={ENV_NAME: str(Path(scratch) / "progress.json"), strict.ENV_NAME: "1"},
        )
        write_notebook(job.source, notebook)
        [execution] = execute([job], LIMITS, progress.on_cell)
        progress.clear()
        if execution.problems:
            raise BadNotebook(
                f"solutions/{source.stem}.py: {execution.problems[0]}",
                why="a solved notebook has to run to its end; the last good one was kept",
                fix="correct the source, then run `course build` again",
            )
        return _with_outputs(notebook, read_notebook(job.target))


def outputs_of(repository: Repository, source: LessonSource) -> NotebookNode:
    """The solved notebook with the outputs of its last execution.

    Raises:
        BadNotebook: code changed since, or what a cell shows.
    """
    notebook, executed = derive_solved(source), read_notebook(repository.solved_path(source.stem))
    if [*map(_made_by, _code(notebook))] != [*map(_made_by, _code(executed))]:
        raise BadNotebook(
            f"solutions/{source.stem}.py: its code is not the code that was executed",
            why="outputs must come from the cells above them",
            fix="run `course build` without --text",
        )
    return _with_outputs(notebook, executed)


def _with_outputs(notebook: NotebookNode, executed: NotebookNode) -> NotebookNode:
    for cell, result in zip(_code(notebook), _code(executed), strict=True):
        # The outputs only: papermill's metadata holds timings.
        cell.outputs, cell.execution_count = result.outputs, result.execution_count
    return notebook


def _made_by(cell: NotebookNode) -> tuple[str, str | None]:
    """What a cell's outputs were made by."""
    return cell.source, course_metadata(cell).get("shows")


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
