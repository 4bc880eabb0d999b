"""Progress per cell: one line that advances in a terminal, plain lines in a log."""

import sys
import threading

import click

from course_utils.notebook.execute import Job


class CellProgress:
    """Shows on stderr which cell runs. Called from several threads.

    >>> line = CellProgress()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._width = 0

    def on_cell(self, job: Job, number: int) -> None:
        # A parameters cell that papermill adds is one more than the notebook has.
        text = f"{job.name}: cell {number} of {max(number, job.num_cells)}"
        with self._lock:
            if sys.stderr.isatty():
                click.echo(f"\r{text.ljust(self._width)}", nl=False, err=True)
                self._width = len(text)
            else:
                click.echo(text, err=True)

    def clear(self) -> None:
        """Remove the line, so that a result can be printed in its place."""
        with self._lock:
            if self._width:
                click.echo(f"\r{' ' * self._width}\r", nl=False, err=True)
                self._width = 0
