"""How the tests of a run are shared out to workers."""

from by_lesson import FILES, lesson_of
from xdist.scheduler import LoadFileScheduling


class FilesAndLessons(LoadFileScheduling):
    """A worker takes a whole file; of the files that go through all lessons, one lesson; and of
    those that share the built site, all, so that no other worker waits for it.

    (xdist 3.8 writes the groups of `--dist loadgroup` where pytest 9.2 does not look.)
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file.startswith("tests/site/"):
            return "tests/site"
        return f"{file} {lesson_of(nodeid)}" if file in FILES else file
