"""Runs a program on a copy of a ticket: it can write only there, and sees no answer.

Behind bubblewrap the file system is read-only, and what holds answers is not there (`hiding`).
Without it the program runs with the caller's rights.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_utils.box.kind import Kind
from course_utils.files.checkouts import checkouts
from course_utils.oncall import hiding

TMP = Path("/tmp")
MAX_SAID = 4000


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, None when the time was over, and its last words."""

    code: int | None
    said: str


def walled(
    command: list[str],
    folder: Path,
    *,
    network: bool,
    writable: tuple[Path, ...],
    readable: tuple[Path, ...],
    hidden: tuple[Path, ...],
) -> list[str]:
    """`command` behind bubblewrap, in `folder`."""
    away = [TMP, *(path for path in checkouts() if path != Path("/"))]
    wall = [shutil.which("bwrap"), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    wall += ["--unshare-pid", "--unshare-ipc", "--die-with-parent"]
    wall += [] if network else ["--unshare-net"]
    for path in away:
        wall += ["--tmpfs", str(path)]
    wall += _bound("--ro-bind", hiding.shown(away))
    for path in (*hiding.answers(), *hidden):
        if path.is_dir():
            wall += ["--tmpfs", str(path)]
        elif path.is_file():
            wall += ["--ro-bind", "/dev/null", str(path)]
    wall += [*_bound("--ro-bind", readable), *_bound("--bind", (folder, *writable))]
    for path in away[1:]:
        wall += ["--remount-ro", str(path)]
    return [*wall, "--chdir", str(folder), "--", *command]


def _bound(how: str, paths: Iterable[Path]) -> list[str]:
    """Each of them in its place; what a link leads to stands where the link does."""
    return [word for path in paths for word in (how, str(path.resolve()), str(path))]


def run(
    command: list[str],
    folder: Path,
    *,
    kind: Kind,
    limit_s: float,
    network: bool = False,
    writable: tuple[Path, ...] = (),
    readable: tuple[Path, ...] = (),
    hidden: tuple[Path, ...] = (),
) -> Ended:
    """Run a command in `folder`, until it ends or time is over; nothing it started goes on.

    Args:
        readable: what it sees even where that is hidden.
        hidden: files and folders that it sees empty, beside those that hold answers.
    """
    if kind.has_walls:
        command = walled(
            command,
            folder,
            network=network,
            writable=writable,
            readable=readable,
            hidden=hidden,
        )
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Ended(127, str(error))
    with process:
        try:
            said, _ = process.communicate(timeout=limit_s)
            return Ended(process.returncode, _last(said))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            return Ended(None, _last(said))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _last(said: bytes) -> str:
    return said[-MAX_SAID:].decode(errors="replace")
