"""Grades on an existing Dask cluster. Its machines need the course, not the folder.

Each thread of a Dask worker has its own grading process. What a Dask worker had in work when
it died is graded by another one.
"""

import asyncio
import atexit
import functools
import itertools
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from course_utils.errors import Unsupported
from course_utils.grading.intake import Handin
from course_utils.grading.result import GraderFailed, Result, from_dict, to_dict
from course_utils.grading.submission import read_bytes
from course_utils.grading.worker import Grader, Request

CONNECT_S = 30
MAX_AHEAD = 100  # files that the scheduler holds at once
_own = threading.local()


def on_dask(address: str):
    """Grades on the cluster whose scheduler is at `address`, such as "tcp://10.0.0.1:8786".

    Raises:
        Unsupported: `distributed` is missing, or no scheduler answers.
    """
    client, as_completed = _connected(address)

    def run(pending: list[tuple[Handin, Request]]) -> Iterator[tuple[Handin, Result]]:
        left, handins, running = iter(pending), {}, as_completed()
        try:
            for handin, request in itertools.islice(left, MAX_AHEAD):
                running.add(_submitted(client, handins, handin, request))
            for future in running:
                for handin, request in itertools.islice(left, 1):
                    running.add(_submitted(client, handins, handin, request))
                yield handins.pop(future), _result(future)
        finally:
            with suppress(Exception):  # the cluster may be gone
                client.cancel(list(handins))
                client.close()

    return run


def _submitted(client, handins: dict, handin: Handin, request: Request):
    # The file travels with the task, so that the machines need not share a disk.
    data = read_bytes(handin.path, handin.below)
    future = client.submit(grade_bytes, data, request, key=f"grade-{handin.key}", pure=False)
    handins[future] = handin
    return future


def grade_bytes(data: bytes, request: Request) -> dict:
    """Grade one submission in a Dask worker; the result as plain data."""
    if not hasattr(_own, "grader"):
        _own.grader = Grader()
    with tempfile.NamedTemporaryFile(suffix=".ipynb") as file:
        file.write(data)
        file.flush()
        known = _known_here() if request.known else ""
        here = replace(request, path=file.name, known=known)
        return to_dict(_own.grader.result(here))


@functools.cache
def _known_here() -> str:
    """This Dask worker's own folder of verdicts: the batch's is on another machine."""
    folder = tempfile.TemporaryDirectory(prefix="course-known-")
    atexit.register(folder.cleanup)
    return folder.name


def _result(future) -> Result:
    try:
        return from_dict(future.result())
    except (Exception, asyncio.CancelledError) as error:  # lost too often, or the cluster ended
        return GraderFailed(f"the Dask cluster: {type(error).__name__}: {error}")


def _connected(address: str):
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise Unsupported(
            "--dask needs the package distributed, which is not installed here",
            why="it is not among what the course needs otherwise",
            fix="pip install 'brokenruns[scale]', or use --jobs or --shard",
        ) from error
    try:
        return Client(address, timeout=CONNECT_S), as_completed
    except (OSError, ValueError) as error:
        raise Unsupported(
            f"no Dask scheduler answers at {address}",
            why=f"{type(error).__name__}: {error}",
            fix="start `dask scheduler` and `dask worker ADDRESS`, or use --jobs",
        ) from error
