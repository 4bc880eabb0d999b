"""A warm process that forks workers, so that slow imports happen only once.

Takes requests over its control socket, with the file descriptors of the child's own socket. Holds
nothing of any submission, and runs none of its code.
"""

import contextlib
import json
import os
import socket
import sys
import traceback
from collections.abc import Callable

MAX_REQUEST = 64 * 2**10
READY = b"ready\n"


def serve(
    control: socket.socket, child: Callable[[dict, list[socket.socket]], None], *, end: int
) -> None:
    """Fork one child per request, or end one, until the other side is gone.

    Args:
        child: runs in the new process with the request and its sockets; the process ends with it.
        end: the signal that ends a child.
    """
    control.sendall(READY)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST, 4)
        if not data:
            return
        if "end" in (request := json.loads(data)):
            _end(request["end"], end)
            control.sendall(b"ended\n")
            continue
        if (pid := os.fork()) == 0:
            _run(control, child, request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(b"%d\n" % pid)


def _end(pid: int, number: int) -> None:
    """End one child and wait for it, so that none is left."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, number)
        os.waitpid(pid, 0)


def _run(control: socket.socket, child: Callable, request: dict, descriptors: list[int]) -> None:
    code = 1
    try:
        control.close()
        child(request, [socket.socket(fileno=descriptor) for descriptor in descriptors])
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)
