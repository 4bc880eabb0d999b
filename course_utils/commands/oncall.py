"""`course oncall`: a broken run to mend, and a judge of the mended one."""

import contextlib
import datetime
import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import click

from course_utils.commands import options
from course_utils.errors import BadRequest
from course_utils.notebook.repository import find_repository
from course_utils.oncall import check as checks
from course_utils.oncall import folder as folders
from course_utils.oncall.diary import NAME as DIARY
from course_utils.oncall.diary import Diary, hints
from course_utils.progress import Progress
from course_utils.quiet import quiet_libraries
from course_utils.wrap import wrapped

LEVEL = click.IntRange(min(folders.LEVELS), max(folders.LEVELS))
SEED = click.IntRange(0, 2**31 - 1)
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group()
def oncall() -> None:
    """Work a ticket: a colleague's broken run, drawn by seed.

    `new` writes a folder, you mend its files and fill in report.yaml, `check` judges both.
    """


@oncall.command()
@click.option("--seed", type=SEED, help="The same seed and level give the same ticket.")
@click.option("--level", type=LEVEL, default=1, show_default=True, help="1, 2 or 3 (three faults).")
@click.option("--out", type=FOLDER, help="The folder to write.  [default: oncall/SEED-LEVEL]")
def new(seed: int | None, level: int, out: Path | None) -> None:
    """Draw a ticket and write its folder (its run is trained once, so that there is a log)."""
    _write(secrets.randbelow(10**6) if seed is None else seed, level, out)


@oncall.command()
@click.option("--level", type=LEVEL, default=1, show_default=True)
@click.option("--out", type=FOLDER, help="The folder to write.  [default: oncall/SEED-LEVEL]")
def weekly(level: int, out: Path | None) -> None:
    """Draw this week's ticket: the same for everybody."""
    year, week, _ = datetime.datetime.now(datetime.UTC).isocalendar()
    click.echo(f"Week {week} of {year}")
    _write(int(hashlib.sha256(f"{year}-{week}".encode()).hexdigest()[:6], 16), level, out)


@oncall.command()
@click.argument("folder", type=FOLDER, default=".")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.pass_context
def check(ctx: click.Context, folder: Path, as_json: bool) -> None:
    """Judge the mended FOLDER: the run on other seeds, and report.yaml.

    Ends with 0 when the run is healthy and the report right, else with 1.
    """
    ticket = folders.read(folder)
    with _judging() as judge:
        tell = (lambda text: None) if as_json else (lambda text: click.echo(text, err=True))
        outcome = checks.check(folder, ticket, judge, say=tell)
    click.echo(json.dumps(outcome.to_dict(), indent=1) if as_json else _wrapped(outcome))
    Diary(folder / DIARY).note_check(ticket.opened_at, outcome.to_dict())
    _record(ticket, outcome)
    ctx.exit(int(not outcome.is_solved))


@oncall.command()
@click.argument("folder", type=FOLDER, default=".")
def hint(folder: Path) -> None:
    """Give the next hint on the ticket in FOLDER; how many were taken is noted."""
    ticket = folders.read(folder)
    known = hints(folders.case_of(ticket), folders.handed_out(ticket)[0])
    number = Diary(folder / DIARY).take_hint()
    if number > len(known):
        click.echo("There are no more hints.")
        return
    click.echo(wrapped(f"hint {number} of {len(known)}: {known[number - 1]}", hang="  "))


def _write(seed: int, level: int, out: Path | None) -> None:
    folder = out or Path("oncall") / f"{seed}-{level}"
    if folder.exists() and any(folder.iterdir()):
        raise BadRequest(
            f"{folder} is there already",
            why="what you have changed in it would be lost",
            fix="name another folder with --out, or another --seed",
        )
    quiet_libraries()
    from course_utils.oncall.training import Trainers  # with what it starts, some seconds

    with Trainers() as trainers:
        folders.write(folder, folders.ticket_of(seed, level), trainers)
    click.echo(f"{folder}: seed {seed}, level {level}. Begin with {folder / folders.TICKET}")


@contextlib.contextmanager
def _judging() -> Iterator:
    """Yields what makes the judge when it is first needed, and ends what it has started."""
    quiet_libraries()
    from course_utils.oncall.proving import Judge
    from course_utils.oncall.training import Trainers

    with contextlib.ExitStack() as stack:
        made: list[Judge] = []

        def judge() -> Judge:
            if not made:
                made.append(Judge(stack.enter_context(Trainers())))
            return made[0]

        yield judge


def _wrapped(outcome: checks.Outcome) -> str:
    lines = checks.told(outcome).splitlines()
    indents = [line[: len(line) - len(line.lstrip())] for line in lines]
    return "\n".join(
        wrapped(line, hang=f"{indent}  ") for line, indent in zip(lines, indents, strict=True)
    )


def _record(ticket: folders.Ticket, outcome: checks.Outcome) -> None:
    """Note it beside the progress in the lessons; where there is no course, nowhere."""
    with contextlib.suppress(BadRequest):
        progress = Progress(find_repository().progress_path)
        said = "passed" if outcome.is_solved else "wrong"
        name = f"oncall.{ticket.level}.{ticket.seed}"
        progress.record_check(name, outcome=said, points=ticket.level * outcome.is_solved)


@oncall.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
@click.option("--level", "levels", type=LEVEL, multiple=True, help="May be given again.  [all]")
@click.option("--num", type=click.IntRange(min=1), default=5, show_default=True, help="A level.")
@options.seconds("--limit", 600.0, "What COMMAND may take for one ticket.")
@click.option("--out", type=FOLDER, required=True, help="Results; named again, it goes on there.")
@click.option(
    "--seed-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Holds the secret seed; made where there is none.  [default: beside --out]",
)
@click.option("--no-network", is_flag=True, help="COMMAND gets no network.")
@click.option("--writable", type=FOLDER, multiple=True, help="A folder COMMAND may write to.")
def bench(command, levels, num, limit, out, seed_file, no_network, writable) -> None:
    """Score COMMAND: it is started in the folder of each ticket, edits it, and ends.

    It sees what a reader sees: ticket.md, the run's files, an empty report.yaml.
    """
    quiet_libraries()
    from course_utils.oncall import bench as benches
    from course_utils.oncall.training import Trainers

    seed = benches.secret_seed(seed_file or out.with_name(f"{out.name}.seed"))
    protocol = benches.Protocol(
        command=command,
        levels=tuple(sorted(set(levels))) or folders.LEVELS,
        num=num,
        limit_s=limit,
        network=not no_network,
        seed_mark=benches.seed_mark(seed),
    )
    found = []
    with Trainers() as trainers:
        if not trainers.kind.has_walls:
            click.echo(f"COMMAND runs with your rights: {trainers.kind.saw}", err=True)
        for score in benches.scores(protocol, seed, out, trainers, writable=writable):
            found.append(score)
            end = "solved" if score.solved else "fixed" if score.fixed else "not fixed"
            click.echo(f"{score.name}  {end}  {score.seconds:.0f} s", err=True)
    click.echo(benches.table(found).text())
