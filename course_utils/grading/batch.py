"""Grades many submissions: each gets exactly one result, saved in its own file at once.

What is kept is not done again: the second call for the same folder and the same `out` goes on
where the first one ended, however it ended.
"""

import hashlib
import queue
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

import course_utils
from course_utils.errors import BadNotebook, BadRequest, NotSaved
from course_utils.files.repository import Repository
from course_utils.grading.intake import Handin
from course_utils.grading.printable import printable
from course_utils.grading.result import (
    CannotBeGraded,
    GraderFailed,
    Record,
    Result,
    from_dict,
    load,
    to_dict,
)
from course_utils.grading.submission import read_bytes
from course_utils.grading.worker import Grader, Request
from course_utils.notebook.execute import Limits

NOTHING = "there is nothing that could be graded"
HAND_IN = "hand in the notebook file that JupyterLab saved"
LESSON = re.compile(rb'"lesson":\s*"(\d\d)_')  # as a notebook names it
OnRecord = Callable[[Record, bool], None]  # the record, and whether it was there before
# Takes what is to be graded, yields each with its result, in any order.
Runner = Callable[[list[tuple[Handin, Request]]], Iterator[tuple[Handin, Result]]]


@dataclass(frozen=True)
class Settings:
    """Settings that hold for every submission of a batch."""

    limits: Limits
    course: str  # the version of the course
    lesson: str = ""  # for notebooks that name none
    with_known: bool = True  # whether an answer that was graded before gets its score unrun

    def version(self, result: Result) -> str:
        """Everything a result depends on besides the submission; a refusal also on --lesson."""
        is_refused = isinstance(result, CannotBeGraded)
        return f"{self.course}-{self.lesson}" if is_refused and self.lesson else self.course


class Store:
    """The folder with one file per result."""

    def __init__(self, out: Path) -> None:
        self.results, self.known = out / "results", out / "known"

    def path(self, handin: Handin) -> Path:
        return self.results / f"{handin.key}.json"

    def done(self, handin: Handin, digest: str, settings: Settings) -> Record | None:
        """The result of an earlier call that still holds: same file, same course."""
        record = load(self.path(handin))
        if record is None or isinstance(record.result, GraderFailed):
            return None
        wanted = (digest, settings.version(record.result))
        return record if (record.digest, record.course) == wanted else None


def course_version(repository: Repository) -> str:
    """A digest of everything that decides on points: lessons, exercises, and their judges."""
    package = Path(course_utils.__file__).parent
    paths = [*repository.solutions.glob("*.py"), *package.rglob("*.py")]
    digest = hashlib.sha256(course_utils.__version__.encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def grade_all(
    handins: list[Handin], store: Store, settings: Settings, runner: Runner, on_record: OnRecord
) -> list[Record]:
    """Grade every submission that has no result yet; returns all results, in order of `handins`.

    Raises:
        NotSaved: a result could not be written; those before it are kept.
        KeyboardInterrupt: the same.
    """
    records, pending, digests = {}, [], {}
    for handin in handins:
        digest, problem, lesson = _digest(handin)
        known = store.done(handin, digest, settings)
        if known is None and problem:
            known = _save(store, handin, digest, settings, CannotBeGraded(problem))
            on_record(known, False)
        elif known is not None:
            on_record(known, True)
        if known is not None:
            records[handin.key] = known
        else:
            digests[handin.key] = digest
            pending.append((lesson, handin, _request(handin, settings, store)))
    pending.sort(key=lambda one: one[0])  # a grader holds one lesson warm
    with closing(runner([one[1:] for one in pending])) as results:
        for handin, result in results:
            record = _save(store, handin, digests[handin.key], settings, result)
            records[handin.key] = record
            on_record(record, False)
    return [records[handin.key] for handin in handins]


def here(jobs: int) -> Runner:
    """Grades on this machine, in `jobs` processes at once."""

    def run(pending: list[tuple[Handin, Request]]) -> Iterator[tuple[Handin, Result]]:
        todo, finished = queue.SimpleQueue(), queue.SimpleQueue()
        for one in pending:
            todo.put(one)
        graders = [Grader() for _ in range(min(jobs, len(pending)))]
        threads = [
            threading.Thread(target=_work, args=(grader, todo, finished), daemon=True)
            for grader in graders
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in pending:
                handin, result = finished.get()
                if isinstance(result, Exception):
                    raise result
                yield handin, result
        finally:
            endings = [threading.Thread(target=grader.close) for grader in graders]
            for thread in endings:  # all at once: each may take a while
                thread.start()
            for thread in endings:
                thread.join()

    return run


def locked(out: Path, part: str) -> FileLock:
    """Keeps a second call from grading the same part into the same folder.

    Raises:
        BadRequest: another one is at it.
        NotSaved: nothing can be written there.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / f".grading{part}.lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BadRequest(
            f"another `course grade` is writing into {out}",
            why="two at once would do the same work twice",
            fix="wait for its end, or name another --out",
        ) from error
    except OSError as error:
        raise NotSaved(
            f"nothing can be written into {out}: {error.strerror or error}",
            why="the results are kept there",
            fix="name a folder of yours with --out",
        ) from error
    return lock


def _work(grader: Grader, todo: queue.SimpleQueue, finished: queue.SimpleQueue) -> None:
    while not grader.is_closed:
        try:
            handin, request = todo.get_nowait()
        except queue.Empty:
            return grader.close()
        try:
            result = grader.result(request)
        except Exception as error:  # a fault of ours must not leave the batch waiting
            result = error
        if not grader.is_closed:  # what was stopped has no result
            finished.put((handin, result))
    return None


def _digest(handin: Handin) -> tuple[str, str, bytes]:
    """The digest of a submission's file, or "" and why there is none; and a hint at its lesson."""
    try:
        if handin.problem:
            raise BadNotebook(f"{handin.below} {handin.problem}", why=NOTHING, fix=HAND_IN)
        data = read_bytes(handin.path, handin.below)
        lesson = LESSON.search(data)
        return hashlib.sha256(data).hexdigest()[:32], "", lesson[1] if lesson else b""
    except BadNotebook as error:
        return "", str(error), b""


def _request(handin: Handin, settings: Settings, store: Store) -> Request:
    return Request(
        path=str(handin.path.absolute()),
        below=handin.below,
        student=handin.student,
        lesson=settings.lesson,
        cell_s=settings.limits.cell_s,
        notebook_s=settings.limits.notebook_s,
        course=settings.course,
        known=str(store.known.absolute()) if settings.with_known else "",
    )


def _save(store: Store, handin: Handin, digest: str, settings: Settings, result: Result) -> Record:
    # As it is read again: nothing below here meets a character that is not seen.
    who, result = (printable(handin.student), printable(handin.name)), from_dict(to_dict(result))
    record = Record(handin.below, *who, digest, settings.version(result), result)
    record.save(store.path(handin))
    return record
