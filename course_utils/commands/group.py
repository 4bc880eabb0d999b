"""The subcommands as click sees them: each is imported when it is asked for."""

import importlib

import click

import course_utils.notebook  # noqa: F401  first, because it shortens the import of nbformat
from course_utils.commands import COMMANDS
from course_utils.shown.ending import plain_ending


class Course(click.Group):
    """Prints every CourseError as its three lines, and Ctrl-C as one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"course_utils.commands.{COMMANDS[name][0]}")
        return getattr(module, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        with plain_ending():
            return super().invoke(ctx)


@click.group(cls=Course, context_settings={"help_option_names": ["-h", "--help"]})
def course() -> None:
    """Why LLM post-training runs break: a hands-on course.

    LESSON is a number or a file stem: 03 or 03_reward_nan.
    """
