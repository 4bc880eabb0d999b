"""Options that more than one subcommand has."""

from collections.abc import Callable
from pathlib import Path

import click

FILE = click.Path(dir_okay=False, path_type=Path)  # to write into


def seconds(name: str, default: float, text: str) -> Callable:
    """An option `name` with a positive number of seconds."""
    return click.option(
        name,
        type=click.FloatRange(min=0, min_open=True),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )


jobs = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many notebooks at once.",
)


def limits(*, cell_s: float, notebook_s: float) -> Callable:
    """The options --cell-limit and --limit, with these defaults."""

    def decorate(command: Callable) -> Callable:
        command = seconds("--limit", notebook_s, "What one notebook may take.")(command)
        return seconds("--cell-limit", cell_s, "What one cell may take.")(command)

    return decorate
