"""Executes notebooks in child processes: a dead kernel or an endless cell ends only the child."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from course_utils.notebook.warm import CAN_WARM, LIBRARIES, Warm, warm_process
from course_utils.shown.quiet import THREADS

# What can end a cell besides its own exception.
TIME_LIMIT, KERNEL_DIED, INTERRUPTED = "TimeLimitReached", "KernelDied", "Interrupted"
GRACE_S = 12.0  # jupyter_client waits 5 s for a kernel before it kills it, twice at worst
MAX_MESSAGE = 300


@dataclass(frozen=True)
class Limits:
    """Seconds that one cell, and one whole notebook, may take."""

    cell_s: float
    notebook_s: float


@dataclass(frozen=True)
class Job:
    """One notebook to execute: `source` is read, `target` is written after every cell."""

    name: str
    source: Path
    target: Path
    folder: Path  # where its cells run
    num_cells: int
    parameters: dict = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    allow_errors: bool = False


@dataclass(frozen=True)
class Problem:
    """What went wrong, in which cell (counted from 1; 0 before the first)."""

    cell: int
    kind: str  # the exception's name, or one of the three above
    message: str

    def __str__(self) -> str:
        return f"cell {self.cell}: {self.message}" if self.cell else self.message


@dataclass(frozen=True)
class Execution:
    """The result of one job. `is_complete` is false when cells were left out."""

    job: Job
    problems: tuple[Problem, ...]
    is_complete: bool
    seconds: float


OnCell = Callable[[Job, int], None]


def execute(jobs: list[Job], limits: Limits, on_cell: OnCell, *, num_parallel: int = 1):
    """Execute every job, some of them at once, and yield each Execution in the order of `jobs`.

    Ctrl-C ends all children with their kernels, keeps what they had written, and goes on up.
    """
    with contextlib.ExitStack() as stack:
        is_warm = CAN_WARM and len(jobs) > 1
        warm = stack.enter_context(warm_process(LIBRARIES)) if is_warm else None
        children = [Child(job, limits, warm) for job in jobs]
        pool = stack.enter_context(ThreadPoolExecutor(num_parallel))
        futures = [pool.submit(child.run, on_cell) for child in children]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            for child in children:
                child.end()
            raise


class Child:
    """The process that executes one job; it and its kernel are forks of `warm`, where that is."""

    def __init__(self, job: Job, limits: Limits, warm: Warm | None = None) -> None:
        self.job, self.limits, self._warm = job, limits, warm
        self._process: subprocess.Popen | None = None
        self._is_ended = threading.Event()

    def run(self, on_cell: OnCell) -> Execution:
        """Start the process, follow it to its end, and return the result."""
        start = time.monotonic()
        # A killed kernel removes nothing itself, and what it started may write until it ends.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            log_path = Path(scratch) / "stderr"
            with log_path.open("w") as log, self._start(scratch, log) as self._process:
                timer = threading.Timer(self.limits.notebook_s, self.end)
                timer.start()
                try:
                    problems, is_complete = self._follow(on_cell)
                finally:
                    timer.cancel()
                    self.end()
            if not is_complete and not problems:
                problems = [self._crash(log_path.read_text(errors="replace"))]
        return Execution(self.job, tuple(problems), is_complete, time.monotonic() - start)

    def _follow(self, on_cell: OnCell) -> tuple[list[Problem], bool]:
        if self._is_ended.is_set():  # Ctrl-C came while the process was being started
            self.end()
        problems, is_complete = [], False
        for kind, *rest in map(json.loads, self._process.stdout):
            if kind == "cell":
                on_cell(self.job, *rest)
            elif kind == "problem":
                problems.append(self._problem(*rest))
            else:
                is_complete = True
        self._process.wait()
        if self._is_ended.is_set() and not is_complete and not problems:
            problems.append(self._problem(0, INTERRUPTED, ""))  # it was still starting
        return problems, is_complete

    def end(self) -> None:
        """End the process and its kernel: first by closing its stdin, then by force."""
        self._is_ended.set()
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            for process in psutil.Process(self._process.pid).children(recursive=True):
                process.kill()
            self._process.kill()

    def _start(self, scratch: str, log) -> subprocess.Popen:
        # Whatever the home holds, and with all that a cell leaves in the temporary folder.
        env = dict.fromkeys(("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"), scratch)
        module, warm = "course_utils.notebook.child", self._warm
        process = subprocess.Popen(
            warm.command(module) if warm else [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
            env=os.environ | THREADS | (warm.env if warm else {}) | env | self.job.env,
            start_new_session=True,  # Ctrl-C reaches this process only, which then ends the child
        )
        request = {
            "source": str(self.job.source.resolve()),
            "target": str(self.job.target.resolve()),
            "folder": str(self.job.folder.resolve()),
            "parameters": self.job.parameters,
            "allow_errors": self.job.allow_errors,
            "cell_s": self.limits.cell_s,
        }
        with contextlib.suppress(BrokenPipeError):  # it has crashed; its end code tells
            process.stdin.write(f"{json.dumps(request)}\n")
            process.stdin.flush()
        return process

    def _problem(self, cell: int, kind: str, message: str) -> Problem:
        saw = f"{kind}: {message}".strip(": \n")
        if kind == TIME_LIMIT:
            saw = f"did not finish within {self.limits.cell_s:g} s {message}".strip()
        elif kind == KERNEL_DIED:
            saw = "the kernel died here; code that may kill a process belongs into a child process"
        elif kind == INTERRUPTED:
            limit = f"the notebook did not finish within {self.limits.notebook_s:g} s"
            saw = f"{limit} and was stopped here"
        return Problem(cell, kind, saw[:MAX_MESSAGE])

    def _crash(self, log: str) -> Problem:
        last = (log.strip().splitlines() or ["it printed nothing"])[-1]
        saw = f"the executing process ended with code {self._process.returncode}: {last}"
        return Problem(0, KERNEL_DIED, saw[:MAX_MESSAGE])
