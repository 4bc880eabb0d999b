"""`course era`: each failure in the library versions of its time, beside those of today."""

import click

from course_utils.errors import BadRequest, IndexUnreachable
from course_utils.files.repository import find_repository
from course_utils.reproductions.eras import ERAS, WHEN, ThenAndNow, find_era, measure
from course_utils.reproductions.eras.declare import Era
from course_utils.reproductions.eras.environment import Environment
from course_utils.reproductions.eras.folders import built, cache_folder, remove, size_of
from course_utils.shown.report import Table

MIB = 2**20
NO_INDEX = 3


@click.command()
@click.argument("lesson", required=False)
@click.option("--then", "only", flag_value="then", help="Only in the versions of its day.")
@click.option("--now", "only", flag_value="now", help="Only in today's.")
@click.option("--all", "everything", is_flag=True, help="Every era, one after the other.")
@click.option("--remove", "removing", is_flag=True, help="Delete the environments instead.")
@click.pass_context
def era(
    ctx: click.Context, lesson: str | None, only: str | None, everything: bool, removing: bool
) -> None:
    """Run the reported script of LESSON in its old versions and in today's, side by side.

    Without LESSON: which eras there are. Exit 1: a symptom is not as expected. Exit 3: the old
    versions are not here, and no package index can be reached.
    """
    wanted = [_era_of(lesson)] if lesson else list(ERAS)
    if removing:
        click.echo(remove_all(wanted))
    elif lesson or everything:
        ctx.exit(run_eras(wanted, (only,) if only else WHEN))
    elif only:
        raise BadRequest(
            f"--{only} without a lesson",
            why="it says in which versions one lesson's script runs",
            fix=f"name a lesson, or all: course era {ERAS[0].number} --{only}",
        )
    else:
        click.echo(eras_table().text())


def run_eras(wanted: list[Era], when: tuple[str, ...]) -> int:
    """Run and print each; returns the exit code. The first that cannot be built ends it."""
    unproven = []
    for one in wanted:
        try:
            found = run_era(one, when)
        except IndexUnreachable as error:
            click.echo(error.saw, err=True)
            return NO_INDEX
        click.echo(f"{found.text()}\n")
        unproven += [] if found.is_proven else [one.stem]
    if unproven:
        click.echo(f"not as expected: {', '.join(unproven)}", err=True)
    return int(bool(unproven))


def _era_of(lesson: str) -> Era:
    [stem] = find_repository().find((lesson,))
    return find_era(stem)


def run_era(era: Era, when: tuple[str, ...]) -> ThenAndNow:
    """Measure one era, with progress on stderr; the first time takes a minute."""
    facts = {}
    for one in when:
        environment = era.then if one == "then" else era.now
        if environment and not environment.path.exists():
            click.echo(f"building {environment.path}, once ...", err=True)
        click.echo(f"running the script, {one} ...", err=True)
        facts[one] = measure(era, one)
    return ThenAndNow(era, facts)


def locks_of(era: Era) -> list[str]:
    return [lock.lock for lock in (era.then, era.now) if lock]


def eras_table() -> Table:
    """Every era, its versions, and what is on disk."""
    rows = []
    for era in ERAS:
        folders = [folder for lock in locks_of(era) for folder in built(lock)]
        size = f"{sum(map(size_of, folders)) / MIB:.0f} MiB" if folders else "not built"
        rows.append((era.stem, era.thread, _both(era.then, era.now, era.versions), size))
    columns = ("lesson", "report", "versions then", "on disk")
    notes = (
        f"Environments are in {cache_folder()}; `course era --remove` deletes them.",
        "`course era LESSON` runs the reported script then and now.",
    )
    return Table(columns=columns, rows=rows, title="Eras", notes=notes)


def _both(then: Environment, now: Environment | None, versions: str) -> str:
    own = ", ".join(f"{name} {version}" for name, version in now.pins.items()) if now else ""
    return f"{versions} (now: {own})" if own else versions


def remove_all(wanted: list[Era]) -> str:
    """Delete the eras' environments, and say which were deleted."""
    removed = remove([lock for era in wanted for lock in locks_of(era)])
    names = [folder.name for folder in removed]
    return f"removed from {cache_folder()}: {', '.join(names)}" if names else "nothing to remove"
