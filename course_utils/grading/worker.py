"""A process that grades one submission after the other for the process that started it.

Reads lines of JSON from stdin, one per submission; answers each with one line on stdout. When
stdin is closed it ends, with what it started. No student code runs in it once there is a box.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from course_utils.errors import BadNotebook
from course_utils.files.repository import Repository, find_repository
from course_utils.grading.grade_cache import GradeCache
from course_utils.grading.printable import printable
from course_utils.grading.result import (
    CannotBeGraded,
    Grade,
    GraderFailed,
    Result,
    Scores,
    from_dict,
    to_dict,
)
from course_utils.grading.submission import Submission, read_submission
from course_utils.notebook.execute import Limits
from course_utils.shown.quiet import THREADS

COMMAND = (sys.executable, "-m", "course_utils.grading.worker")
MAX_ATTEMPTS = 3
START_S, GRACE_S = 120.0, 20.0
GradeOne = Callable[[Repository, Submission, Limits, GradeCache | None], Scores]


@dataclass(frozen=True)
class Request:
    """A request to a worker to grade one submission."""

    path: str
    below: str  # the path as it is shown
    student: str
    lesson: str  # for a notebook that names none; "" when nothing is known
    cell_s: float
    notebook_s: float
    course: str = ""  # its version
    known: str = ""  # the folder of verdicts that were made before; "" for none


class Grader:
    """One worker, started when it is needed and again when it has died. For one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the worker
        # A worker that is killed removes nothing itself.
        self._folder = tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True)
        self.is_closed = False

    def result(self, request: Request) -> Result:
        """The result of one submission, after up to MAX_ATTEMPTS if the grader fails."""
        for _ in range(MAX_ATTEMPTS):
            result = self._attempt(request)
            if not isinstance(result, GraderFailed) or self.is_closed:
                return result
            self._end()
        return replace(result, attempts=MAX_ATTEMPTS)

    def close(self) -> None:
        """End the worker, from any thread; its current submission gets no result."""
        self.is_closed = True
        self._end()
        self._log.close()
        self._folder.cleanup()

    def _attempt(self, request: Request) -> Result:
        timer = None
        try:
            process = self._running()
            limit_s = START_S + request.notebook_s + GRACE_S
            timer = threading.Timer(limit_s, self._end)
            timer.start()
            process.stdin.write(f"{json.dumps(asdict(request))}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            return from_dict(json.loads(line)) if line else GraderFailed(self._why(process))
        except (OSError, ValueError) as error:
            return GraderFailed(printable(f"{type(error).__name__}: {error}"))
        finally:
            if timer:
                timer.cancel()

    def _running(self) -> subprocess.Popen:
        if self.is_closed:
            raise OSError("the grading was stopped")
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                encoding="utf-8",
                env=os.environ | THREADS | {"TMPDIR": self._folder.name},
                start_new_session=True,  # Ctrl-C reaches the batch only, which then ends this one
            )
        return self._process

    def _why(self, process: subprocess.Popen) -> str:
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        self._log.seek(max(self._log.tell() - 4096, 0))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"the grading process ended with code {process.returncode}: {(lines or [''])[-1]}"

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        with suppress(OSError, ValueError):
            process.stdin.close()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(psutil.Error):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
            process.kill()
            process.wait()
        process.stdout.close()


def grade(repository: Repository, request: Request, grade_one: GradeOne) -> Result:
    """One submission, one result, whatever it contains and whatever happens here."""
    try:
        submission = read_submission(Path(request.path), request.below, request.student)
        lesson = _lesson_of(submission, request, repository)
        limits = Limits(request.cell_s, request.notebook_s)
        known = (
            GradeCache(Path(request.known), request.course, limits.cell_s)
            if request.known
            else None
        )
        return Grade(grade_one(repository, replace(submission, lesson=lesson), limits, known))
    except BadNotebook as error:
        return CannotBeGraded(str(error))
    except Exception as error:  # any error; it says nothing about the submission
        return GraderFailed(printable(f"{type(error).__name__}: {error}", keep="\n"))


def _lesson_of(submission: Submission, request: Request, repository: Repository) -> str:
    stem = submission.lesson or request.lesson
    if stem in repository.stems():
        return stem
    saw = f"is of another course: {stem!r}" if stem else "is no notebook of this course"
    raise BadNotebook(
        f"{request.below} {printable(saw)}",
        why="only a notebook that `course build` or `course reset` made says which lesson it is",
        fix="name the lesson with --lesson when a tool has stripped the notebook's metadata",
    )


def main(grade_one: GradeOne | None = None) -> None:
    if grade_one is None:
        from course_utils.grading.one_submission import (
            grade_one,  # slow, and not for whoever starts workers
        )

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints must not mix with the answers
    requests, repository = queue.SimpleQueue(), find_repository()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        while (line := requests.get()) is not None:
            result = grade(repository, Request(**json.loads(line)), grade_one)
            answers.write(f"{json.dumps(to_dict(result))}\n")
            answers.flush()


def _listen(requests: queue.SimpleQueue) -> None:
    # os.read and not sys.stdin: its lock would abort the interpreter at exit.
    rest = b""
    while chunk := os.read(0, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            requests.put(line)
    os.kill(os.getpid(), signal.SIGINT)  # clean up what is in work, but not for long
    time.sleep(GRACE_S - 5)
    os._exit(1)


if __name__ == "__main__":
    main()
