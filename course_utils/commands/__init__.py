"""The `course` command. Each subcommand is a module here, imported when it is asked for."""

import importlib
import signal
import sys

import click

import course_utils.notebook  # noqa: F401  first, because it shortens the import of nbformat
from course_utils.errors import CourseError, Unsupported

# Module and help of each subcommand, so that `course --help` imports none of them.
COMMANDS = {
    "lab": ("lab", "Open JupyterLab at the first lesson."),
    "start": ("lab", "Copy the lessons into a folder of your own."),
    "run": ("run", "Execute lessons with papermill and print the score sheet."),
    "grade": ("grade", "Grade notebooks, yours or those of a class, with the lesson's own checks."),
    "status": ("status", "Show your progress in all lessons."),
    "reset": ("status", "Start a lesson or one exercise afresh; your copy is kept."),
    "explain": ("explain", "Say what a pasted log or an exit code points to."),
    "preflight": ("preflight", "Look at a training script's first batch before it trains."),
    "incident": ("incident", "Run a failure as people met it: its log, its cause, its fix."),
    "oncall": ("oncall", "Work a ticket: a broken run to mend, and a judge of the mended one."),
    "doctor": ("doctor", "Say whether this machine can run the course."),
    "era": ("era", "Run a failure in the versions of its day, and in today's."),
    "build": ("build", "Make both notebooks of each lesson from solutions/*.py."),
}
BAD_INPUT, INTERRUPTED = 2, 130


class Course(click.Group):
    """Prints every CourseError as its three lines, and Ctrl-C as one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"course_utils.commands.{COMMANDS[name][0]}")
        except ModuleNotFoundError as error:
            if error.name.startswith(__package__.partition(".")[0]):
                raise  # a defect of ours
            raise Unsupported(
                f"`course {name}` needs the package {error.name}, which is not installed here",
                why="the library alone was installed, without what runs lessons",
                fix="pip install 'course-utils[lab]'",
            ) from error
        return getattr(module, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except CourseError as error:
            click.echo(str(error), err=True)
            ctx.exit(BAD_INPUT)
        except KeyboardInterrupt:
            click.echo("\nStopped. What was finished is kept; no process is left.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Course, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Why LLM post-training runs break: a hands-on course.

    LESSON is a number or a file stem: 03 or 03_reward_nan.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # progress is readable through a pipe
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing is left behind
