"""The `course` command. Each subcommand is a module here, imported when it is asked for.

This module imports the standard library alone, as `course explain` needs nothing else.
"""

import sys
from collections.abc import Sequence

from course_utils.errors import Unsupported
from course_utils.shown.ending import plain_ending

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
NEED_LAB = ("lab", "run", "grade", "build")  # the others need what lessons import


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; `arguments` are those of the command line by default."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    name = arguments[0] if arguments else "--help"
    if name == "explain":
        from course_utils.explain.__main__ import main as explain

        explain(arguments[1:])
        return
    with plain_ending():
        try:
            from course_utils.commands.group import course

            course(arguments, "course")
        except ModuleNotFoundError as error:
            if (error.name or __package__).startswith(__package__.partition(".")[0]):
                raise  # a defect of ours
            raise _lacks(name, error.name) from error


def _lacks(command: str, package: str) -> Unsupported:
    extra = "lab" if command in NEED_LAB else "course"
    return Unsupported(
        f"`course {command}` needs the package {package}, which is not installed here",
        why="of all commands, `course explain` alone needs nothing but Python",
        fix=f"pip install 'brokenruns[{extra}]'",
    )
