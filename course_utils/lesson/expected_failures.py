"""Failures that a lesson provokes: they are shown, and it is an error if one does not occur."""

from collections.abc import Iterator
from contextlib import contextmanager

from course_utils.errors import DidNotFail
from course_utils.shown.wrap import say

MAX_LINE = 100


class Caught:
    """What `expect_failure` caught; filled in when the block ends."""

    error: BaseException | None = None


@contextmanager
def expect_failure(kind: type[BaseException], *, saying: str) -> Iterator[Caught]:
    """Run a block that must raise `kind` with `saying` in its message; show the message's start.

    Raises:
        DidNotFail: nothing was raised, or something else was.

    >>> with expect_failure(ZeroDivisionError, saying="division"):
    ...     1 / 0
    As expected, ZeroDivisionError: division by zero
    """
    caught = Caught()
    wanted = f"{kind.__name__} saying {saying!r}"
    try:
        yield caught
    except Exception as error:
        if not isinstance(error, kind) or saying not in str(error):
            raise DidNotFail(
                f"expected {wanted}, got {type(error).__name__}: {error}",
                why="the lesson shows one particular failure, and this is another one",
                fix="restart the kernel and run all cells; if it stays, run `course doctor`",
            ) from error
        caught.error = error
    if caught.error is None:
        raise DidNotFail(
            f"expected {wanted}, and nothing failed",
            why="the lesson is about this failure, so its absence is a finding",
            fix="run `course doctor`: a library version other than the lock's may have mended it",
        )
    line = next(line for line in str(caught.error).splitlines() if saying in line or not saying)
    shown = line.strip() if len(line) <= MAX_LINE else f"{line.strip()[: MAX_LINE - 3]}..."
    say(f"As expected, {type(caught.error).__name__}: {shown}")


def expect_symptom(name: str, *, holds: bool) -> None:
    """Report that a symptom without an exception is there; raise DidNotFail if it is not.

    >>> expect_symptom("the loss is nan", holds=True)
    As expected: the loss is nan
    """
    if not holds:
        raise DidNotFail(
            f"expected that {name}, and it is not so",
            why="the lesson is about this failure, so its absence is a finding",
            fix="restart the kernel and run all cells; if it stays, run `course doctor`",
        )
    print(f"As expected: {name}")
