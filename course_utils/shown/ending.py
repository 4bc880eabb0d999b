"""How a command ends early: an error as its three lines, Ctrl-C as one, each with its exit code."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from course_utils.errors import CourseError

BROKEN_PIPE, BAD_INPUT, INTERRUPTED = 1, 2, 130


@contextmanager
def plain_ending() -> Iterator[None]:
    """Whatever ends the block, the program ends without a traceback."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # progress is readable through a pipe
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing is left behind
    try:
        yield
    except CourseError as error:
        print(error, file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
    except BrokenPipeError:  # as in `course explain LOG | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise SystemExit(BROKEN_PIPE) from None
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept; no process is left.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
