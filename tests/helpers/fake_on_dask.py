"""Preloaded by the Dask workers of the tests: they grade without a kernel."""

from fake_course import FAKE_GRADER

from course_utils.grading import worker


def dask_setup(_dask_worker) -> None:
    """Called by `dask worker --preload fake_on_dask`."""
    worker.COMMAND = FAKE_GRADER
