"""Inside the box: `run_in_child` and `warm_children` ask the judge to run the course's job.

A box may start no process. Whatever else should run in a child is refused, as the kernel would.
"""

import errno
from collections.abc import Callable
from functools import partial

from course_utils.diagnostics.processes import autopsy
from course_utils.diagnostics.processes.children import Ending

REFUSED = "the box starts no process but the job's own runs"


def install(job: object, ask: Callable[..., dict]) -> None:
    """Let the instruments get the endings of `job` from `ask(settings, seed)`."""

    def ending(function: Callable, arguments: tuple, **_: object) -> Ending:
        while isinstance(function, partial) and not function.keywords:
            function, arguments = function.func, (*function.args, *arguments)
        is_run = getattr(function, "__name__", "") == "run"
        if not is_run or getattr(function, "__self__", None) is not job:
            raise PermissionError(errno.EPERM, REFUSED)
        return Ending(**ask(*arguments))

    class JobRequests:
        """Replaces `WarmParent`."""

        def __init__(self, **_: object) -> None:
            self.run = ending

        def __enter__(self) -> "JobRequests":
            return self

        def __exit__(self, *_: object) -> None:
            pass

    autopsy.WarmParent, autopsy.call_in_process = JobRequests, ending
