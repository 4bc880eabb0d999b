"""`course incident`: one broken run of the corpus, what people saw of it, and what fixes it."""

from collections.abc import Iterator
from difflib import get_close_matches

import click

from course_utils import incidents
from course_utils.causes import CAUSES
from course_utils.causes.kinds import CLASSES
from course_utils.errors import BadRequest
from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.shown.quiet import quiet_libraries
from course_utils.shown.wrap import columns, wrapped

CALLED = {"broken": "the broken run", "twin": "its healthy twin", "mended": "the run with the fix"}


@click.command()
@click.argument("name", required=False)
@click.option("--twin", "variant", flag_value="twin", help="Run the healthy twin instead.")
@click.option("--fixed", "variant", flag_value="mended", help="Run it with the fix instead.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--list", "listing", is_flag=True, help="List all by kind, as without NAME.")
def incident(name: str | None, variant: Variant | None, seed: int, listing: bool) -> None:
    """Run an incident on the CPU, seconds: what people saw, its log, and what fixes it.

    Without NAME: the incidents by kind of failure.
    """
    if listing or not name:
        click.echo("\n".join(_by_kind()))
        return
    _check(name)
    quiet_libraries()
    variant = variant or "broken"
    one = incidents.load_incident(name)
    click.echo("\n".join(_seen(one, variant, seed)))
    run = one.make(variant, seed)
    run.start()
    click.echo("\n".join([*map(as_printed, run.log), "", *_after(one, run)]))


def _check(name: str) -> None:
    known = incidents.names()
    if name in known:
        return
    near = get_close_matches(name, known, n=3) or [one for one in known if name in one][:3]
    raise BadRequest(
        f"there is no incident {name!r}",
        why=f"the corpus has {len(known)} incidents, each with a name of its own",
        fix=f"{'did you mean ' + ', '.join(near) + '? ' if near else ''}see course incident --list",
    )


def _by_kind() -> Iterator[str]:
    """Every incident with its title, under its kind of failure; the most frequent kind first."""
    said = {name: incidents.declaration(name) for name in incidents.names()}
    for kind, about in CLASSES.items():
        rows = [(f"  {name}", one["title"]) for name, one in said.items() if one["kind"] == kind]
        yield from [f"{kind}: {about}", *columns(rows)] if rows else ()
    yield "course incident NAME runs one of them."


def _seen(one: Incident, variant: Variant, seed: int) -> Iterator[str]:
    """What is known before the run."""
    yield wrapped(f"{one.name}: {one.title} ({one.kind})")
    yield wrapped(f"reported: {one.says} ({', '.join(one.threads)})")
    if one.rebuilt:
        yield wrapped(f"rebuilt: {one.rebuilt}")
    yield f"\nThe log of {CALLED[variant]}, seed {seed}:"


def as_printed(entry: dict[str, object]) -> str:
    """An entry of a log as its library prints it, with its step: verl by colons, others as a dict.

    >>> as_printed({"step": 1, "actor/kl_loss": 0.5}), as_printed({"loss": 0.693147})
    ('step:1 - actor/kl_loss:0.500', "{'loss': '0.6931'}")
    """
    if "error" in entry:
        return str(entry["error"])
    if any(name.startswith("actor/") for name in entry):
        said = (f"{k}:{v:.3f}" if isinstance(v, float) else f"{k}:{v}" for k, v in entry.items())
        return " - ".join(said)
    shown = {k: v for k, v in entry.items() if k != "total_flos"}  # transformers prints the others
    return str({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in shown.items()})


def _after(one: Incident, run: Run) -> Iterator[str]:
    """What was measured, and what is behind it."""
    facts = ", ".join(f"{name} {value:.4g}" for name, value in run.facts().items())
    yield wrapped(f"measured afterwards: {facts or 'nothing; the log shows it'}")
    yield f"the symptom shows: {'yes' if one.shows(run) else 'no'}\n"
    yield wrapped(f"cause: {one.cause}")
    yield wrapped(f"fix: {one.fix}")
    if one.lesson:
        yield f"lesson: {one.lesson}"
    if tools := [CAUSES[key].instrument for key in one.causes if CAUSES[key].instrument]:
        yield f"instrument: {tools[0]}"
