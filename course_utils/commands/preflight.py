"""`course preflight`: what is wrong with a training script, before a GPU is rented."""

from pathlib import Path

import click

from course_utils.commands.options import FILE
from course_utils.diagnostics.preflight import preflight_script

# Whatever follows SCRIPT is the script's own, with or without a `--`.
OF_SCRIPT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command(context_settings=OF_SCRIPT)
@click.option("--json", "data", type=FILE, metavar="FILE", help="Write the report as JSON, too.")
@click.argument("script")
@click.argument("arguments", metavar="[-- ARGS]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def preflight(
    ctx: click.Context, data: Path | None, script: str, arguments: tuple[str, ...]
) -> None:
    """Run SCRIPT with ARGS until it would begin to train, look at its first batch, and end it.

    Data, weights, settings, one forward and one backward pass, on a CPU too: no step is taken, and
    nothing is saved, uploaded or reported. The script stops at the first Trainer.train(), or in a
    loop of your own before the optimizer's first step. What it does before that, it does.

    Exit 0: nothing was found. Exit 1: a cause was. Exit 2: it did not come to training.
    """
    own = arguments[1:] if arguments[:1] == ("--",) else arguments
    ctx.exit(0 if preflight_script(script, own, data=data) else 1)
