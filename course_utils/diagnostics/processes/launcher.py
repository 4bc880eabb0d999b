"""Several processes under a launcher: torchrun, accelerate launch, python -m torch.distributed.run.

Follows each rank from outside: its output, its memory, its end. Past the time limit the launcher is
held still, and each rank is asked for its stack, one after the other.
"""

import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.diagnostics.processes import packages
from course_utils.diagnostics.processes.children import (
    STACK_S,
    Ending,
    in_own_session,
    tail,
    wait_looking,
)
from course_utils.diagnostics.processes.memory import PeakMemory

if TYPE_CHECKING:
    import psutil

MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
OWN_LOGS = ("--tee", "-t", "--redirects", "-r", "--log-dir", "--log_dir")
# torch.distributed.elastic's summary of who failed, the root cause in its last part.
ROOT_CAUSE = "Root Cause"
FAILED = re.compile(r"^\s+rank\s+: (\d+) .*\n\s+exitcode\s+: (-?\d+)", re.M)
FAILED_FIRST = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")


@dataclass
class Rank:
    """One process of the run, as seen from outside."""

    number: int
    local: int  # its number on this machine, by which the launcher names its logs
    pid: int
    memory: PeakMemory
    exit_code: int | None = None  # None: the launcher did not say
    was_running: bool = False  # when the time limit came
    ended_s: float | None = None  # seconds after the start; None if it never ended by itself
    stdout: str = ""
    stderr: str = ""


@dataclass
class Launched:
    """How the launcher ended, each rank, and which of them failed first."""

    ending: Ending
    ranks: list[Rank] = field(default_factory=list)
    first: int | None = None


def launcher_at(argv: Sequence[str]) -> int | None:
    """The index after which the launcher's own options begin; None if it is not a launcher.

    >>> launcher_at(["accelerate", "launch", "train.py"]), launcher_at(["python", "train.py"])
    (2, None)
    """
    names = [Path(part).name for part in argv]
    for index, name in enumerate(names):
        follows = names[index + 1] if index + 1 < len(names) else ""
        if name == "torchrun" or (name == "accelerate-launch"):
            return index + 1
        if name == "accelerate" and follows == "launch":
            return index + 2
        if name == "-m" and follows in MODULES:
            return index + 2
        if name.endswith(".py"):
            return None
    return None


def run_launcher(
    argv: Sequence[str], at: int, *, timeout_s: float, env: Mapping[str, str]
) -> Launched:
    """Run it to its end or to its time limit, and clear away all that it started."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = folder / "ranks"
        if not any(part.partition("=")[0] in OWN_LOGS for part in argv):
            argv = [*argv[:at], "--tee", "3", "--log_dir", str(logs), *argv[at:]]
        # The fault handler answers SIGABRT with the stacks, and the end of a log is not lost.
        env = {"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1", **env}
        out, err = folder / "stdout", folder / "stderr"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            streams = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
            with in_own_session(argv, env=env, **streams) as process:
                family = _Family(process.pid)
                timed_out = not wait_looking(process, timeout_s, family.look)
                if timed_out:
                    family.ask_for_stacks(process)
        code = -signal.SIGKILL if timed_out else process.returncode
        ranks = sorted(family.ranks.values(), key=lambda rank: rank.number)
        for rank in ranks:
            rank.stdout = _log(logs, rank.local, "stdout.log")
            rank.stderr = _log(logs, rank.local, "stderr.log")
        launched = Launched(Ending(code, timed_out, tail(out), tail(err)), ranks)
    _read_summary(launched)
    return launched


class _Family:
    """The ranks below a launcher, found by the variables that it sets for them."""

    def __init__(self, launcher: int) -> None:
        self.ranks: dict[int, Rank] = {}  # by process id
        self._launcher, self._began = launcher, time.monotonic()

    def look(self) -> None:
        """Find new ranks, read the memory of all, and note which have ended."""
        with suppress(packages.psutil.NoSuchProcess):
            for child in packages.psutil.Process(self._launcher).children(recursive=True):
                with suppress(packages.psutil.Error):
                    self._add(child)
        for rank in self.ranks.values():
            rank.memory.look()
            if rank.ended_s is None and not _runs(rank.pid):
                rank.ended_s = time.monotonic() - self._began

    def _add(self, child: "psutil.Process") -> None:
        if child.pid in self.ranks or any(p.pid in self.ranks for p in child.parents()):
            return  # known, or something that a rank started: it inherits the variables
        variables = child.environ()
        if {"RANK", "LOCAL_RANK"} <= variables.keys():
            number, local = int(variables["RANK"]), int(variables["LOCAL_RANK"])
            self.ranks[child.pid] = Rank(number, local, child.pid, PeakMemory(child.pid))

    def ask_for_stacks(self, process: subprocess.Popen) -> None:
        """Let each rank write its stack, with the launcher paused so that it ends no rank."""
        process.send_signal(signal.SIGSTOP)
        for rank in self.ranks.values():
            rank.was_running = rank.ended_s is None
            with suppress(packages.psutil.Error):
                if rank.was_running:
                    packages.psutil.Process(rank.pid).send_signal(signal.SIGABRT)
        deadline = time.monotonic() + STACK_S
        while any(_runs(pid) for pid in self.ranks) and time.monotonic() < deadline:
            time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return packages.psutil.Process(pid).status() != packages.psutil.STATUS_ZOMBIE
    except packages.psutil.NoSuchProcess:
        return False


def _log(folder: Path, local_rank: int, name: str) -> str:
    """What one rank wrote in its last attempt; "" if the launcher kept no logs here."""
    files = sorted(folder.glob(f"*/attempt_*/{local_rank}/{name}"))
    return tail(files[-1]) if files else ""


def _read_summary(launched: Launched) -> None:
    """Take exit codes, and who failed first, from the launcher's own summary."""
    said = launched.ending.stderr + launched.ending.stdout
    codes = {int(rank): int(code) for rank, code in FAILED.findall(said)}
    for rank in launched.ranks:
        rank.exit_code = codes.get(rank.number, 0 if launched.ending.exit_code == 0 else None)
    root = FAILED.search(said.rpartition(ROOT_CAUSE)[2]) if ROOT_CAUSE in said else None
    if root:
        launched.first = int(root[1])
    elif failed := FAILED_FIRST.search(said):
        local = int(failed[2])
        launched.first = next((r.number for r in launched.ranks if r.local == local), None)
