"""`course grade`: points for notebooks, your own or those of a class."""

import os
import re
import tempfile
from pathlib import Path

import click

from course_utils.box.kind import NO_SANDBOX_ENV, find_kind, no_box
from course_utils.commands import options
from course_utils.commands.grade_text import ResultPrinter, total
from course_utils.commands.options import FILE
from course_utils.errors import BadRequest, NotSaved
from course_utils.files.repository import Repository, find_repository
from course_utils.files.saving import new_folder, save
from course_utils.grading import batch, intake, outcome_files
from course_utils.grading.batch import Settings, Store
from course_utils.grading.intake import Handin
from course_utils.grading.layouts import PRESETS
from course_utils.grading.printable import printable
from course_utils.grading.result import CannotBeGraded, GraderFailed, Record
from course_utils.notebook.execute import Limits
from course_utils.shown.ending import BAD_INPUT, INTERRUPTED

GRADER_FAILED = 3


class Shard(click.ParamType):
    """Part i of n, written i/n and counted from 1."""

    name = "I/N"

    def convert(self, value, param, ctx):
        match = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", value)
        if not match or int(match[1]) > int(match[2]):
            self.fail("give such as 2/8, the second of eight parts")
        return int(match[1]), int(match[2])


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[NOTEBOOK|FOLDER]...")
@click.option("--lesson", metavar="LESSON", help="Of notebooks that do not say it themselves.")
@click.option(
    "--student",
    "pattern",
    metavar="PATTERN",
    help=f"How a folder's names tell students: {', '.join(PRESETS)}, or a regular expression with "
    "(?P<id>...).  [default: what the names speak for]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where results are "
    "kept; named again, a call goes on there.  [default of a folder: runs/001 and so on]",
)
@options.jobs
@click.option("--shard", type=Shard(), help="Only part I of N, for many machines with one --out.")
@click.option("--dask", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler.")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="Write the grades as JSON.")
@click.option("--junit", "junit_path", type=FILE, metavar="FILE", help="The same as JUnit XML.")
@click.option("--csv", "csv_path", type=FILE, metavar="FILE", help="The same for Moodle.")
@click.option("--no-sandbox", is_flag=True, help="Run strangers' code with your own rights.")
@click.option("--no-cache", is_flag=True, help="Run also answers that were graded before.")
@options.limits(cell_s=120.0, notebook_s=900.0)
@click.pass_context
def grade(
    ctx,
    paths,
    lesson,
    pattern,
    out,
    jobs,
    shard,
    dask,
    no_sandbox,
    no_cache,
    cell_limit,
    limit,
    **targets,
) -> None:
    """Grade notebooks (by default all in notebooks/), or a folder of what a class handed in.

    Every cell but the answers is the lesson's own, whatever the notebook holds. Ends with 0 for
    full marks, 1 for less, 2 for a notebook that cannot be graded, 3 when the grader failed.
    """
    repository = find_repository()
    [stem] = repository.find((lesson,)) if lesson else [""]
    course = batch.course_version(repository)
    settings = Settings(Limits(cell_limit, limit), course, stem, with_known=not no_cache)
    handins, is_class = _handins(repository, paths, pattern)
    part, handins = _part(handins, shard)
    if not dask:
        _choose_box(repository, handins, no_sandbox=no_sandbox)
    runner = _runner(dask, jobs)
    with tempfile.TemporaryDirectory() as scratch:
        if out and is_class:
            _check_out(out, paths[0])
        out = out or (new_folder(repository.runs) if is_class else Path(scratch))
        if is_class:
            click.echo(f"Results are kept in {out}", err=True)
        shown = ResultPrinter(len(handins), is_class=is_class)
        with batch.locked(out, part):
            records = _grade(handins, out, settings, runner, shown, is_whole=is_class and not part)
    click.echo(total(records))
    for name, write in WRITERS.items():
        if targets[name]:
            save(targets[name], write(records))
    ctx.exit(_exit_code(records))


WRITERS = {
    "json_path": outcome_files.as_json,
    "junit_path": outcome_files.as_junit,
    "csv_path": outcome_files.as_csv,
}


def _choose_box(repository: Repository, handins: list[Handin], *, no_sandbox: bool) -> None:
    """Decide for all workers whether student code runs in a box.

    Raises:
        Unsupported: this machine can make none, and a notebook is not one's own.
    """
    os.environ.pop(NO_SANDBOX_ENV, None)
    if no_sandbox:
        os.environ[NO_SANDBOX_ENV] = "1"
    elif not (kind := find_kind()).has_walls:
        own = (repository.notebooks.resolve(), repository.solutions.resolve())
        if not all(handin.path.resolve().parent in own for handin in handins):
            raise no_box(kind)
        os.environ[NO_SANDBOX_ENV] = "1"


def _handins(
    repository: Repository, paths: tuple[Path, ...], pattern: str | None
) -> tuple[list[Handin], bool]:
    """The submissions to grade, and whether a folder was named."""
    paths = paths or tuple(repository.student_path(stem) for stem in repository.stems())
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        return intake.of_files(list(paths)), False
    if len(paths) > 1:
        raise BadRequest(
            f"{len(paths)} things are named, and {printable(str(folders[0]))} is a folder",
            why="the results of one folder belong together",
            fix="name one folder, or notebook files only",
        )
    found = intake.of_folder(folders[0], pattern)
    for note in found.notes:
        click.echo(note, err=True)
    if not found.handins:
        raise BadRequest(
            f"{printable(str(folders[0]))} holds no submission by --student {found.pattern!r}",
            why="nothing was graded, which must not look like full marks",
            fix="name the folder that holds the students' folders, or another --student",
        )
    students = len({handin.student for handin in found.handins})
    saw = f"{len(found.handins)} submissions of {students} students, told apart by"
    click.echo(f"{saw} --student {printable(found.pattern)!r}", err=True)
    return list(found.handins), True


def _check_out(out: Path, folder: Path) -> None:
    if out.resolve().is_relative_to(folder.resolve()):
        raise BadRequest(
            f"--out {printable(str(out))} lies in the folder that is graded",
            why="what a student handed in there could pass for a result",
            fix="name a folder elsewhere",
        )


def _part(handins: list[Handin], shard: tuple[int, int] | None) -> tuple[str, list[Handin]]:
    if shard is None:
        return "", handins
    return f"-{shard[0]}of{shard[1]}", list(intake.shard(tuple(handins), *shard))


def _runner(dask: str | None, jobs: int) -> batch.Runner:
    if dask is None:
        return batch.here(jobs)
    from course_utils.grading.on_dask import on_dask  # an extra that need not be installed

    return on_dask(dask)


def _grade(handins, out, settings, runner, shown, *, is_whole: bool) -> list[Record]:
    """All results; those of a class are also written for Moodle, programs and students.

    Raises:
        click.exceptions.Exit: it was stopped, or the disk is full; what was finished is kept.
    """
    try:
        records = batch.grade_all(handins, Store(out), settings, runner, shown)
        if is_whole:
            outcome_files.save_all(records, out)
        return records
    except (NotSaved, KeyboardInterrupt) as error:
        shown.clear()
        if isinstance(error, NotSaved):
            click.echo(str(error), err=True)
        click.echo(
            f"Stopped: {shown.count} of {len(handins)} results are kept in {out}. "
            f"The same command with --out {out} goes on from there; no process is left.",
            err=True,
        )
        code = GRADER_FAILED if isinstance(error, NotSaved) else INTERRUPTED
        raise click.exceptions.Exit(code) from error


def _exit_code(records: list[Record]) -> int:
    results = [record.result for record in records]
    if any(isinstance(result, GraderFailed) for result in results):
        return GRADER_FAILED
    if any(isinstance(result, CannotBeGraded) for result in results):
        return BAD_INPUT
    return int(any(result.scores.points < result.scores.of for result in results))
