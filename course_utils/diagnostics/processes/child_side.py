"""What runs inside a child interpreter: one call, or a warm parent that forks one child per call.

`python -m ....child_side PAYLOAD` makes the one call. Without a payload it reads a line of JSON per
job from stdin and answers each with one; it never prints anything else there.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

import dill
import psutil

from course_utils.diagnostics.processes.children import stopped_by_limit

PR_SET_PDEATHSIG = 1  # Linux, prctl(2)


def die_with_parent() -> None:
    """Die with a killed kernel; on systems other than Linux the time limit has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def load(payload: str) -> Callable[[], object]:
    """The call that a payload file holds, ready to be made."""
    with open(payload, "rb") as file:
        function, arguments = dill.load(file)
    return partial(function, *arguments)


def serve() -> None:
    """Answer jobs until stdin closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what imports print must not be taken for an answer
    for line in sys.stdin:
        message = json.loads(line)
        for name in message.get("preload", ()):
            importlib.import_module(name)
        answer = fork_and_wait(message) if "payload" in message else {}
        print(json.dumps(answer), file=answers, flush=True)


def fork_and_wait(job: dict) -> dict:
    """Make one call in a forked child, and end every process that is left of it."""
    try:
        call = load(job["payload"])  # here, so that what it imports stays warm
    except Exception:
        call = partial(load, job["payload"])  # fails again in the child, where it is reported
    pid = os.fork()
    if pid == 0:
        be_the_child(call, job)
    child = psutil.Process(pid)
    timed_out = stopped_by_limit(child, job["timeout_s"])
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what the child started and did not wait for
    return {"exit_code": int(child.wait()), "timed_out": timed_out}


def be_the_child(call: Callable[[], object], job: dict) -> NoReturn:
    """Make the call as a script would, and exit without unwinding the parent's stack."""
    os.setpgid(0, 0)
    die_with_parent()  # a fork does not inherit this
    for stream, name in ((1, job["stdout"]), (2, job["stderr"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    exit_code = 1
    try:
        call()
        exit_code = 0
    except SystemExit as stop:
        exit_code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(exit_code)


if __name__ == "__main__":
    die_with_parent()
    if len(sys.argv) > 1:
        load(sys.argv[1])()
    else:
        serve()
