"""Limits a box's memory: with one cgroup for all its processes, or with limits per process.

The limits of `confine` hold in any case. A cgroup also counts what several processes hold, and
what a file in memory takes.
"""

import contextlib
import functools
import itertools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CGROUP, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
MIB = 2**20
LIMITS, GROUP, SYSTEMD = "limits", "cgroup", "systemd-run"
# Joins a group before anything is started, so that nothing is outside it.
JOIN = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
_numbers = itertools.count()


@dataclass(frozen=True)
class Counter:
    """How memory is counted, in a word, and where."""

    name: str
    folder: Path | None = None

    @property
    def saw(self) -> str:
        return {
            GROUP: "memory by a cgroup",
            SYSTEMD: "memory by a cgroup of systemd's",
            LIMITS: "memory by each process's own limits (no cgroup can be made)",
        }[self.name]


@functools.cache
def find_counter() -> Counter:
    """Try a cgroup (v2) below one's own, then systemd's, once."""
    folder = own_group()
    if folder is not None and _can_limit(folder):
        return Counter(GROUP, folder)
    return Counter(SYSTEMD) if _systemd_answers() else Counter(LIMITS)


def own_group(root: Path = CGROUP, own: Path = OWN) -> Path | None:
    """The folder of this process's group, if the system has only version 2 cgroups."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return None
    is_v2 = len(lines) == 1 and lines[0].startswith("0::/")
    folder = root / lines[0].removeprefix("0::/") if is_v2 else None
    return folder if folder and folder.is_dir() else None


def _can_limit(folder: Path) -> bool:
    probe = folder / f"course-probe-{os.getpid()}"
    try:
        probe.mkdir()
        (probe / "memory.max").write_text(str(64 * MIB))
        return True
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            probe.rmdir()


def _systemd_answers() -> bool:
    if shutil.which("systemd-run") is None:
        return False
    try:
        command = [*_scope(64), "true"]
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _scope(mib: int) -> list[str]:
    whose = [] if os.geteuid() == 0 else ["--user"]
    scope = ["systemd-run", *whose, "--scope", "--quiet", "--collect"]
    return [*scope, "-p", f"MemoryMax={mib}M", "-p", "MemorySwapMax=0", "--"]


@contextlib.contextmanager
def counted(command: list[str], mib: int, counter: Counter | None = None):
    """Yields `command`, bounded to `mib` MiB with all that it starts, where a cgroup counts it."""
    counter = counter or find_counter()
    if counter.name == SYSTEMD:
        yield [*_scope(mib), *command]
        return
    if counter.folder is None:
        yield command
        return
    group = counter.folder / f"course-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        (group / "memory.max").write_text(str(mib * MIB))
        yield ["/bin/sh", "-c", JOIN, str(group), *command]
    finally:
        with contextlib.suppress(OSError):  # a process of it may be about to end
            group.rmdir()
