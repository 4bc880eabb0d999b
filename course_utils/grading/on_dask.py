"""Grades on a Dask cluster that exists already. Its machines need the course, not the folder.

Each thread of a Dask worker has a grading process of its own. What a Dask worker had in work when
it died is graded by another one.
"""

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace

from course_utils.errors import Unsupported
from course_utils.grading.intake import Handin
from course_utils.grading.result import GraderFailed, Result, from_dict, to_dict
from course_utils.grading.submission import read_bytes
from course_utils.grading.worker import Grader, Request

CONNECT_S = 30
_own = threading.local()


def on_dask(address: str):
    """Grades on the cluster whose scheduler is at `address`, such as "tcp://10.0.0.1:8786".

    Raises:
        Unsupported: `distributed` is missing, or no scheduler answers.
    """
    client = _connected(address)

    def run(pending: list[tuple[Handin, Request]]) -> Iterator[tuple[Handin, Result]]:
        from distributed import as_completed

        # The file travels with the task, so that the machines need not share a disk.
        handins = {
            client.submit(
                grade_bytes,
                read_bytes(handin.path, handin.below),
                request,
                pure=False,
                key=f"grade-{handin.key}",
            ): handin
            for handin, request in pending
        }
        try:
            for future in as_completed(handins):
                yield handins[future], _result(future)
        finally:
            client.cancel(list(handins))
            client.close()

    return run


def grade_bytes(data: bytes, request: Request) -> dict:
    """What a Dask worker does for one submission; the result as data, so that nothing is unpickled
    that an answer could have made."""
    if not hasattr(_own, "grader"):
        _own.grader = Grader()
    with tempfile.NamedTemporaryFile(suffix=".ipynb") as file:
        file.write(data)
        file.flush()
        return to_dict(_own.grader.result(replace(request, path=file.name)))


def _result(future) -> Result:
    try:
        return from_dict(future.result())
    except Exception as error:  # the cluster lost it too often, or went away
        return GraderFailed(f"the Dask cluster: {type(error).__name__}: {error}")


def _connected(address: str):
    try:
        from distributed import Client
    except ImportError as error:
        raise Unsupported(
            "--dask needs the package distributed, which is not installed here",
            why="it is not among what the course needs otherwise",
            fix="pip install 'course-utils[scale]', or use --jobs or --shard",
        ) from error
    try:
        return Client(address, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        raise Unsupported(
            f"no Dask scheduler answers at {address}",
            why=f"{type(error).__name__}: {error}",
            fix="start `dask scheduler` and `dask worker ADDRESS`, or use --jobs",
        ) from error
