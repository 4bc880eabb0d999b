"""`course oncall`: a broken run to fix, and a judge for the fixed one."""

import atexit
import datetime
import gc
import json
import time
from pathlib import Path

import click

from course_utils.box.kind import find_kind
from course_utils.commands import options
from course_utils.oncall import actions
from course_utils.oncall import budget as budgets
from course_utils.oncall import check as checks
from course_utils.oncall import folder as folders
from course_utils.oncall.check_result import result_of
from course_utils.shown.quiet import quiet_libraries
from course_utils.shown.wrap import wrapped

LEVEL = click.IntRange(min(folders.LEVELS), max(folders.LEVELS))
SEED = click.IntRange(0, 2**31 - 1)
FOLDER = click.Path(path_type=Path, file_okay=False)
PATH = click.Path(path_type=Path, exists=True)
FILE = click.Path(path_type=Path, dir_okay=False)
OUT = click.option("--out", type=FOLDER, help="The folder to write.  [default: oncall/SEED-LEVEL]")


@click.group()
def oncall() -> None:
    """Work a ticket: a colleague's broken run, drawn by seed.

    `new` writes a folder, you mend its files and fill in report.yaml, `check` judges both.
    """
    atexit.register(gc.freeze)  # a last collection of what torch imports takes 0.7 s


@oncall.command()
@click.option("--seed", type=SEED, help="The same seed and level give the same ticket.")
@click.option("--level", type=LEVEL, default=1, show_default=True, help="1, 2 or 3 (three faults).")
@click.option("--lesson", metavar="NN", help="A ticket about what lesson NN teaches.")
@click.option("--class", "kind", metavar="CLASS", help="A ticket of this class of failure.")
@click.option("--budget", type=click.IntRange(min=1), help="Looks that may be taken.  [free]")
@OUT
def new(
    seed: int | None,
    level: int,
    lesson: str | None,
    kind: str | None,
    budget: int | None,
    out: Path | None,
) -> None:
    """Draw a ticket and write its folder (its run is trained once, so that there is a log).

    No ticket comes again before you have had all that fit; --seed names one of them. With --budget
    its files are closed, and each is opened with `course oncall look`, which is counted.
    """
    if seed is not None and (lesson or kind):
        raise click.UsageError("--seed names one ticket, so it takes no --lesson and no --class.")
    if seed is None:
        seed = actions.new_seed(level=level, lesson=lesson, kind=kind)
    _write(seed, level, out, budget)


@oncall.command()
@click.option("--level", type=LEVEL, default=1, show_default=True, help="1, 2 or 3 (three faults).")
@OUT
def weekly(level: int, out: Path | None) -> None:
    """Draw this week's ticket: the same for everybody."""
    today = datetime.datetime.now(datetime.UTC).date()
    click.echo(f"Week {today.isocalendar().week} of {today.isocalendar().year}")
    _write(actions.seed_of_week(today), level, out)


def _write(seed: int, level: int, out: Path | None, num_looks: int | None = None) -> None:
    quiet_libraries()
    folder = out or Path("oncall") / f"{seed}-{level}"
    actions.open_ticket(folder, seed=seed, level=level, num_looks=num_looks)
    click.echo(f"{folder}: seed {seed}, level {level}. Begin with {folder / folders.TICKET}")


@oncall.command()
@click.argument("folder", type=FOLDER, default=".")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.pass_context
def check(ctx: click.Context, folder: Path, as_json: bool) -> None:
    """Judge the mended FOLDER: the run on other seeds, and report.yaml.

    Ends with 0 when the run is healthy and the report right, else with 1. The form of the JSON is
    in course_utils/oncall/check_result.py.
    """
    quiet_libraries()
    began = time.monotonic()
    outcome = actions.check_ticket(folder, say=_aside)
    seconds, looks = time.monotonic() - began, budgets.bill(folder)
    if as_json:
        click.echo(json.dumps(result_of(outcome, seconds=seconds, looks=looks), indent=1))
    else:
        click.echo("\n".join(filter(None, (checks.told(outcome), looks and str(looks)))))
    ctx.exit(int(not outcome.is_solved))


@oncall.command()
@click.argument("thing")
@click.argument("folder", type=FOLDER, default=".")
def look(thing: str, folder: Path) -> None:
    """Open THING in the FOLDER of a ticket with a budget, or run explain, train or diagnose there.

    The ticket lists what there is and what it costs.
    """
    quiet_libraries()
    click.echo(budgets.look(folder, thing))


@oncall.command()
@click.argument("folder", type=FOLDER, default=".")
def hint(folder: Path) -> None:
    """Give the next hint on the ticket in FOLDER; how many were taken is noted."""
    quiet_libraries()
    click.echo(wrapped(actions.next_hint(folder)))


@oncall.command()
@click.argument("folders_given", nargs=-1, type=FOLDER, required=True, metavar="FOLDER...")
@click.option("--out", type=FILE, default="certificate.json", show_default=True)
def certificate(folders_given: tuple[Path, ...], out: Path) -> None:
    """Write a certificate of solved tickets: seeds, numbers, your files, and a digest.

    Anybody can check it again with `course oncall verify`. It proves that these files solve these
    tickets, and not who wrote them.
    """
    quiet_libraries()
    digest = actions.certify(list(folders_given), out, say=_aside)
    click.echo(f"{out}: {len(folders_given)} solved, digest {digest}")


@oncall.command()
@click.argument("path", type=FILE, metavar="CERTIFICATE")
@click.pass_context
def verify(ctx: click.Context, path: Path) -> None:
    """Train the files of a certificate here, and judge them again.

    Ends with 0 when all of its tickets are solved, else with 1.
    """
    quiet_libraries()
    digest, judged = actions.verify(path, say=_aside)
    for entry, outcome in judged:
        said = "solved" if outcome.is_solved else "; ".join(outcome.problems) or "report not right"
        click.echo(f"{entry.name}: {said}")
    click.echo(f"digest {digest}")
    ctx.exit(int(not all(outcome.is_solved for _, outcome in judged)))


def _aside(text: str) -> None:
    click.echo(text, err=True)


@oncall.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
@click.option("--level", "levels", type=LEVEL, multiple=True, help="May be given again.  [all]")
@click.option("--num", type=click.IntRange(min=1), default=5, show_default=True, help="A level.")
@click.option(
    "--healthy",
    type=click.FloatRange(0, 1),
    default=0.25,
    show_default=True,
    help="The share of tickets whose run is healthy and only looks odd.",
)
@options.seconds("--limit", 600.0, "What COMMAND may take for one ticket.")
@click.option("--out", type=FOLDER, required=True, help="Results; named again, it goes on there.")
@click.option(
    "--seed-file",
    type=FILE,
    help="Holds the secret seed; made where there is none.  [default: beside --out]",
)
@click.option("--budget", type=click.IntRange(min=1), help="Looks at each ticket.  [free]")
@click.option("--network", is_flag=True, help="COMMAND may use the network, such as for an API.")
@click.option("--writable", type=FOLDER, multiple=True, help="A folder COMMAND may write to.")
@click.option(
    "--readable", type=PATH, multiple=True, help="What COMMAND may read of this course's checkout."
)
@click.option(
    "--without-walls", is_flag=True, help="Where there is no box: answers may be readable then."
)
def bench(
    command,
    levels,
    num,
    healthy,
    limit,
    out,
    seed_file,
    budget,
    network,
    writable,
    readable,
    without_walls,
) -> None:
    """Score COMMAND: it is started in the folder of each ticket, edits it, and ends.

    It sees what a reader sees: ticket.md, the run's files, an empty report.yaml. It has no network,
    and of this course only the instruments; the results say what it was given beyond that. With
    --budget the files are closed, and `python look THING` opens one of them, which is counted.
    Some runs are healthy: there it has to leave the files alone and write `faults: none`. It is
    judged once, when it has ended.
    """
    quiet_libraries()
    from course_utils.oncall.bench import drawing, result, running, score, stored
    from course_utils.oncall.training import Trainers

    kind = find_kind()
    if not without_walls:
        running.ask_for_walls(kind)
    seed_file = (seed_file or out.with_name(f"{out.name}.seed")).absolute()
    seed = drawing.secret_seed(seed_file)
    protocol = stored.Protocol(
        command=command,
        levels=tuple(sorted(set(levels))) or folders.LEVELS,
        num=num,
        limit_s=limit,
        network=network,
        seed_mark=drawing.seed_mark(seed),
        readable=tuple(str(path.absolute()) for path in readable),
        walls=kind.has_walls,
        budget=budget,
        healthy=healthy,
    )
    found = []
    with Trainers(kind) as trainers:
        writable = tuple(path.absolute() for path in writable)
        for one in running.scores(
            protocol, seed, out, trainers, writable=writable, hidden=(seed_file,)
        ):
            found.append(one)
            click.echo(f"{one.name}  {one.in_words}  {one.seconds:.0f} s", err=True)
    click.echo(score.table(found).text())
    click.echo(f"written to {result.write(out, protocol, found)}", err=True)
