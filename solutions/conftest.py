"""Grades what nbval executes: the points that a solved notebook leaves behind must be all of them.

So no lesson has to be executed a second time to be graded, nor to look at its figures: each one
that is shown is looked at where it is drawn. Of a cell tagged "digits-vary" nbval compares all but the
numbers.
"""

import contextlib
import os
import re
import tempfile
from pathlib import Path

import pytest

from course_utils.exercises import find_lesson
from course_utils.files.progress import ENV_NAME, Progress
from course_utils.notebook.warm import CAN_WARM, LIBRARIES, warm_process
from course_utils.shown.figures import strict

SCRATCH = tempfile.TemporaryDirectory(prefix="course-points-", ignore_cleanup_errors=True)
# Long trainings and 16-bit rounding end in other digits where a processor has other vector kernels.
DIGITS_VARY = "digits-vary"
NUMBER, ALT = re.compile(r"\s*[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?%?\s*"), re.compile(r'alt="[^"]*"')


def pytest_configure(config):
    """Side by side, all kernels are forks of one process, those of tests as well; alone, none is.

    Workers inherit the environment.
    """
    if CAN_WARM and config.getoption("numprocesses") and config.getoption("nbval"):
        stack = contextlib.ExitStack()
        config.add_cleanup(stack.close)
        os.environ.update(stack.enter_context(warm_process(LIBRARIES)).env)


def pytest_collection_modifyitems(items):
    for item in items:
        if DIGITS_VARY in getattr(item, "cell", {}).get("metadata", {}).get("tags", ()):
            item.sanitize = lambda text, whole=item.sanitize: without_numbers(whole(text))


def without_numbers(text: str) -> str:
    """Numbers as #, the space that a table puts around them as none, and no words for a curve.

    >>> without_numbers("lr 1e-4   0.31\\nlr 1e-3  -12.5%")
    'lr##lr##'
    """
    return " ".join(NUMBER.sub("#", ALT.sub("", text)).split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """The kernel starts in the setup of its first cell, and takes the environment of then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENV_NAME, str(progress_path(item)))
        patch.setenv(strict.ENV_NAME, "1")
        patch.setenv("TMPDIR", SCRATCH.name)  # nbval kills kernels, which then remove nothing
        return (yield)


def pytest_unconfigure():
    SCRATCH.cleanup()


def pytest_runtest_teardown(item, nextitem):
    if nextitem is not None and nextitem.path == item.path:
        return
    lesson, progress = find_lesson(item.path.stem), Progress(progress_path(item))
    lost = [e.id for e in lesson.exercises if progress.exercise(e.id)["best"] < e.points]
    if lost:
        pytest.fail(f"the solved {lesson.stem} does not pass {', '.join(lost)}", pytrace=False)


def progress_path(item: pytest.Item) -> Path:
    return Path(SCRATCH.name) / f"{item.path.stem}.json"
