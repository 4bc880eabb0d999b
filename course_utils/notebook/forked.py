"""Runs a module in a fork of the warm process, as `python -m MODULE` would in a process of its own.

    python -S forked.py SOCKET MODULE [ARGUMENT ...]

Hands over its streams, folder and environment, passes signals on, and ends as the fork ends. When
this process is killed, `warm.py` ends the fork. Without a warm process it becomes `python -m`.
"""

import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main() -> None:
    address, *module = sys.argv[1:]
    try:
        asked, lines = _ask(address, module)
        fork = int(next(lines))
    except (OSError, StopIteration):  # the warm process has ended
        os.execv(sys.executable, [sys.executable, "-m", *module])
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(fork, number))
    code = int(next(lines, "1"))
    asked.close()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def _ask(address: str, module: list[str]):
    """The connection, and the lines that come back: the fork's number and its exit code."""
    asked = socket.socket(socket.AF_UNIX)
    asked.connect(address)
    socket.send_fds(asked, [b"\n"], [0, 1, 2])
    request = {"argv": module, "folder": os.getcwd(), "env": dict(os.environ)}
    asked.sendall(f"{json.dumps(request)}\n".encode())
    return asked, asked.makefile()


if __name__ == "__main__":
    main()
