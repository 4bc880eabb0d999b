"""Runs a command in a temporary folder of its own, and removes and names what it leaves behind.

    python -m tests.prove.nothing_left COMMAND ...

No process of the command is alive afterwards, however it ended, and its temporary folder is gone.
Ends with the command's status, or with 1 if the command succeeded but left something. SIGINT and
SIGTERM are passed on to the command.
"""

import ctypes
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

PR_SET_CHILD_SUBREAPER = 36  # Linux, prctl(2)
# What a process gets to end: by itself, after SIGTERM, after SIGKILL.
WAIT_S = float(os.environ.get("NOTHING_LEFT_WAIT_S", "5"))
RANDOM = re.compile(r"(?:(?<=^tmp)|(?<=[-.]))[a-z0-9_]{8}(?=\.|$)")  # from Python's tempfile
KEPT = ("pytest-of-", "torchinductor_")  # one for each user, kept by design of pytest and torch
SEEN = 200  # characters of a command line


def run(command: list[str]) -> tuple[int, list[str]]:
    """The exit status of `command`, and a line for each kind of thing that it left."""
    adopt_orphans()
    # A short path: the name of a unix socket in it may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as folder:
        # A process group of its own, so that a signal from the terminal comes only once.
        pid = os.posix_spawnp(command[0], command, os.environ | {"TMPDIR": folder}, setpgroup=0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: pass_on(pid, number))
        status = status_of(pid)
        left = [f"process: {line}" for line in stop_processes(folder)]
        names = [path.name for path in Path(folder).iterdir() if not path.name.startswith(KEPT)]
        left += [f"in the temporary folder: {RANDOM.sub('*', name)}" for name in names]
    return status, [f"left {line} ({count} times)" for line, count in Counter(left).items()]


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends; elsewhere their TMPDIR tells them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def pass_on(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def status_of(pid: int) -> int:
    """Wait for a process, and for every orphan that ends before it; a signal is 128 + number."""
    ended = None
    while ended != pid:
        ended, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def stop_processes(folder: str) -> list[str]:
    """End every process that is left, and return the command lines of those that had to be."""
    psutil.wait_procs(processes(folder), timeout=WAIT_S)
    stopped = {}
    for end in (psutil.Process.terminate, *[psutil.Process.kill] * 5):  # they may start others
        alive = processes(folder)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                stopped.setdefault(process.pid, " ".join(process.cmdline())[:SEEN])
                end(process)
        psutil.wait_procs(alive, timeout=WAIT_S)
    return list(stopped.values())


def processes(folder: str) -> list[psutil.Process]:
    """The descendants of this process, and whoever has `folder` as its temporary folder."""
    found = set(psutil.Process().children(recursive=True))
    if sys.platform != "linux":
        found |= {process for process in psutil.process_iter() if is_in(process, folder)}
    return list(found)


def is_in(process: psutil.Process, folder: str) -> bool:
    try:
        return process.environ().get("TMPDIR", "").startswith(folder)
    except (psutil.Error, OSError):  # another user's, or ended
        return False


def main() -> None:
    status, left = run(sys.argv[1:])
    for line in left:
        print(line, file=sys.stderr)
    if left and status == 0:
        status = 1
        print(
            "The command succeeded, but left what is named above. It is removed now; "
            "whoever makes it must remove it.",
            file=sys.stderr,
        )
    sys.exit(status)


if __name__ == "__main__":
    main()
