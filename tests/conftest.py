"""Pins one thread, quiets the libraries, and shares the tests out to the workers."""

import re
import signal

from xdist.scheduler import LoadFileScheduling

from course_utils.quiet import quiet_libraries

quiet_libraries()
# A job that a shell started in the background ignores Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

BY_LESSON = re.compile(r"(.*test_(?:lessons|exercises)\.py)::.*\[(\d\d)[._]")


class FilesAndLessons(LoadFileScheduling):
    """A worker takes a whole file, and of the files that go through all lessons one lesson.

    (xdist 3.8 writes the groups of `--dist loadgroup` where pytest 9.2 does not look.)
    """

    def _split_scope(self, nodeid: str) -> str:
        lesson = BY_LESSON.match(nodeid)
        return " ".join(lesson.groups()) if lesson else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config, log):
    return FilesAndLessons(config, log)
