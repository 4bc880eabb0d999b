"""Runs a program on a copy of a ticket: it can write only there, and sees no answer.

Behind bubblewrap the file system is read-only, and the cases, their tests and pages, and the
course's history are not there. Without it the program runs with the caller's rights.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from course_utils.box.kind import PACKAGE, Kind
from course_utils.files.repository import INSTALLED

ROOT = PACKAGE.parent
COPY = Path(sysconfig.get_path("purelib")) / PACKAGE.name / "oncall"  # an installed one
PAGES = (ROOT / "docs", ROOT / "tests", ROOT / ".git", INSTALLED)
HIDDEN = (PACKAGE / "oncall", COPY, *PAGES)
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
    hidden: tuple[Path, ...],
) -> list[str]:
    """`command` behind bubblewrap, in `folder`."""
    wall = [shutil.which("bwrap"), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    wall += ["--tmpfs", "/tmp", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]
    wall += ["--ro-bind", str(ROOT), str(ROOT)]  # the course may lie in /tmp
    wall += [] if network else ["--unshare-net"]
    for path in (*HIDDEN, *hidden):
        if path.is_dir():
            wall += ["--tmpfs", str(path)]
        elif path.is_file():
            wall += ["--ro-bind", "/dev/null", str(path)]
    for path in (folder, *writable):
        wall += ["--bind", str(path), str(path)]
    return [*wall, "--chdir", str(folder), "--", *command]


def run(
    command: list[str],
    folder: Path,
    *,
    kind: Kind,
    limit_s: float,
    network: bool = True,
    writable: tuple[Path, ...] = (),
    hidden: tuple[Path, ...] = (),
) -> Ended:
    """Run a command in `folder`, until it ends or time is over; nothing it started goes on.

    Args:
        hidden: files and folders that it sees empty, beside those that hold answers.
    """
    if kind.has_walls:
        command = walled(command, folder, network=network, writable=writable, hidden=hidden)
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
