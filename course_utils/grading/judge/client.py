"""The grader's side: keeps a judge and a student's process warm, and asks them for scores.

Imports no torch, so that a grader stays small.
"""

import contextlib
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from course_utils.box.kind import PACKAGE, Kind
from course_utils.box.lines import Ended, hear, tell
from course_utils.box.warm import Warm
from course_utils.errors import GraderFailed, Unsupported
from course_utils.grading.library_without_answers import strip
from course_utils.notebook.execute import Limits

JUDGE, STUDENT = "course_utils.grading.judge.judge", "course_utils.grading.judge.student"


class Box:
    """Judges submissions of one lesson; its warm processes start when they are needed.

    A context manager: it leaves no process and no file behind.

    Args:
        kind: with walls, or without for one's own notebooks.
        reads: what each exercise of the lesson calls its answer.
    """

    def __init__(self, number: str, reads: dict[str, str], kind: Kind) -> None:
        if not hasattr(socket, "send_fds"):
            raise Unsupported(
                "this system cannot hand sockets from one process to another",
                why="the judge and the student's code are processes of their own",
                fix="grade on Linux or macOS; on Windows, in WSL",
            )
        self._kind = kind
        self._folder = tempfile.TemporaryDirectory(prefix="course-box-")
        stripped = strip(Path(self._folder.name))
        home = Path(self._folder.name) / "home"
        home.mkdir()
        names = ",".join(f"{name}={variable}" for name, variable in reads.items())
        seen = Path("/course") if kind.has_walls else stripped
        self._student = Warm(STUDENT, kind, {stripped: seen}, [seen], names, home=home)
        path = [Path(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        added = [p for p in path if p.is_dir() and p != PACKAGE.parent]
        readable = {p: p for p in (PACKAGE, *added)}
        self._judge = Warm(JUDGE, kind, readable, [*added, PACKAGE.parent], number, home=home)

    def scores(self, cells: list[dict], exercises: list[str], limits: Limits) -> Iterator[dict]:
        """The score of each exercise as it is decided; fewer if time runs out.

        Args:
            cells: with `source`, `role` and `exercise`, in the order of the notebook.

        Raises:
            GraderFailed: a process of the grader's own ended.
        """
        ours, theirs = socket.socketpair()
        workers: set[int] = set()
        with ours, theirs:
            judge = self._judge.fork({}, theirs)
            theirs.close()
            job = {"cells": cells, "exercises": exercises, "cell_s": limits.cell_s}
            try:
                tell(ours, job | {"walls": self._kind.has_walls})
                yield from self._follow(ours, workers, time.monotonic() + limits.notebook_s)
            except Ended as error:
                raise _failed(str(error)) from error
            finally:
                self._judge.end(judge)
                for worker in workers:
                    self._student.end(worker)

    def _follow(self, judge: socket.socket, workers: set[int], end: float) -> Iterator[dict]:
        while (left_s := end - time.monotonic()) > 0:
            judge.settimeout(left_s)
            try:
                data, _ = hear(judge)
            except Ended:
                if time.monotonic() >= end:
                    return
                raise
            if "score" in data:
                yield data["score"]
            elif "worker" in data:
                self._hand_over(judge, workers)
            elif "end" in data:
                workers.discard(data["end"])
                self._student.end(data["end"])
            else:
                return

    def _hand_over(self, judge: socket.socket, workers: set[int]) -> None:
        one, other = socket.socketpair()
        with one, other:
            worker = self._student.fork({}, other)
            workers.add(worker)
            tell(judge, {"worker": worker}, one.fileno())

    def wait(self) -> None:
        """Wait until both warm processes are ready; asking for scores does so by itself."""
        one, other = socket.socketpair()
        with one, other:
            self._student.end(self._student.fork({}, other))

    def close(self) -> None:
        self._student.close()
        self._judge.close()
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _failed(why: str) -> GraderFailed:
    return GraderFailed(
        f"the judge has ended: {why}",
        why="it runs none of the student's code, so this machine is at fault",
        fix="grade again; if it stays, run `course doctor`",
    )
