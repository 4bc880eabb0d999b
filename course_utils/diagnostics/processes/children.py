"""Runs child processes that may die: in their own session, timed, never left behind.

Output goes to files and is unbuffered, so the last line before a crash survives; a child that is
stopped for taking too long is first asked for its stack.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.diagnostics.processes import packages
from course_utils.diagnostics.processes.memory import PeakMemory
from course_utils.errors import Unsupported

if TYPE_CHECKING:
    import psutil

CAN_FORK = hasattr(os, "fork")  # Linux and macOS; not Windows
STACK_S = 2.0  # what a stuck child gets to write its stack before it is killed
LOOK_S = 0.1  # between two looks at a running child
KEPT_CHARS = 200_000  # of each output stream, the end
FAMILY = "COURSE_FAMILY"  # every process that a child starts inherits this variable


@dataclass(frozen=True)
class Ending:
    """How a child ended: negative exit codes are signals, and the output is the end of it."""

    exit_code: int
    timed_out: bool
    stdout: str
    stderr: str
    peak_memory: int | None = None  # bytes, of the child itself


def run_process(argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str]) -> Ending:
    """Run a command to its end or its time limit, and end everything that it started.

    >>> run_process([sys.executable, "-c", "print(6 * 7)"], timeout_s=30, env={}).stdout
    '42\\n'
    """
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            streams = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
            with in_own_session(argv, env=env, **streams) as process:
                memory = PeakMemory(process.pid)
                timed_out = stopped_by_limit(process, timeout_s, memory.look)
        return Ending(process.returncode, timed_out, tail(out), tail(err), memory.bytes)


def python_command(*arguments: str) -> list[str]:
    """This interpreter, with the fault handler on and its output unbuffered."""
    return [sys.executable, "-X", "faulthandler", "-u", *arguments]


def call_in_process(
    function: Callable, arguments: tuple, *, timeout_s: float, env: Mapping[str, str]
) -> Ending:
    """Call a function in a fresh interpreter; also one defined in a notebook or a closure."""
    with _scratch_folder() as folder:
        payload = _pack(function, arguments, Path(folder, "payload"))
        env = {"TMPDIR": folder, **env}  # a child that dies cannot clean up
        return run_process(_callee(str(payload)), timeout_s=timeout_s, env=env)


class WarmParent:
    """A child interpreter that imports slow modules once, and forks itself for every call.

    Where the platform cannot fork, every call starts a cold interpreter: the same answer, later.

    >>> with WarmParent(preload=("json",)) as parent:
    ...     parent.run(print, ("hello",), timeout_s=30).stdout
    'hello\\n'
    """

    def __init__(self, *, preload: Sequence[str] = (), env: Mapping[str, str] | None = None):
        # Without NVML torch.cuda.is_available() would start CUDA here, and a fork cannot use it.
        self._env = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1", **(env or {})}
        self._preload = list(preload)

    def __enter__(self) -> "WarmParent":
        _ = packages.dill  # the parent needs it: where it is missing, the error comes first
        self._folder = _scratch_folder()
        self._errors = Path(self._folder.name, "warm-parent").open("wb")
        if not CAN_FORK:
            return self
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
        env = {"TMPDIR": self._folder.name, **self._env}  # children that die cannot clean up
        self._session = in_own_session(_callee(), env=env, **pipes)
        self._process = self._session.__enter__()
        try:
            self._ask({"preload": self._preload})
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_exc_info: object) -> None:
        if CAN_FORK:
            self._session.__exit__(None, None, None)
        self._errors.close()
        self._folder.cleanup()

    def run(self, function: Callable, arguments: tuple, *, timeout_s: float) -> Ending:
        """Call `function(*arguments)` in a new child."""
        if not CAN_FORK:
            return call_in_process(function, arguments, timeout_s=timeout_s, env=self._env)
        folder = Path(self._folder.name)
        out, err = folder / "stdout", folder / "stderr"
        out.write_bytes(b"")
        err.write_bytes(b"")
        payload = _pack(function, arguments, folder / "payload")
        job = {"payload": str(payload), "stdout": str(out), "stderr": str(err)}
        answer = self._ask({**job, "timeout_s": timeout_s})
        return Ending(answer["exit_code"], answer["timed_out"], tail(out), tail(err))

    def _ask(self, message: dict) -> dict:
        with suppress(BrokenPipeError):  # the missing answer is reported below
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            said = tail(Path(self._errors.name)).strip().splitlines() or ["nothing on stderr"]
            raise Unsupported(
                f"the warm parent process ended by itself; its last line: {said[-1]}",
                why="it imports what is slow and forks the children, so none can be started",
                fix=f"check that these import in a fresh interpreter: {self._preload}",
            )
        return json.loads(answer)


def stopped_by_limit(
    process: "subprocess.Popen | psutil.Process",
    timeout_s: float,
    look: Callable[[], None] = lambda: None,
) -> bool:
    """Wait for a child's end; past the limit, let it write its stack, then kill it."""
    if wait_looking(process, timeout_s, look):
        return False
    process.send_signal(signal.SIGABRT)  # on which the fault handler writes the stack
    try:
        process.wait(STACK_S)
    except _expired():
        process.kill()
        process.wait()
    return True


def wait_looking(
    process: "subprocess.Popen | psutil.Process", timeout_s: float, look: Callable[[], None]
) -> bool:
    """Wait until the process ends (True) or time is up (False), calling `look` now and then."""
    deadline, pause = time.monotonic() + timeout_s, 0.01
    while (left := deadline - time.monotonic()) > 0:
        look()
        with suppress(*_expired()):
            process.wait(min(pause, left))
            return True
        pause = min(2 * pause, LOOK_S)
    return False


def _expired() -> tuple[type[Exception], ...]:
    return subprocess.TimeoutExpired, packages.psutil.TimeoutExpired


def tail(path: Path) -> str:
    """The end of a child's output."""
    return path.read_bytes().decode(errors="replace")[-KEPT_CHARS:]


@contextmanager
def in_own_session(
    argv: Sequence[str], *, env: Mapping[str, str], **streams: object
) -> Iterator[subprocess.Popen]:
    """A process whose whole family is gone when the block ends, however it ends."""
    _ = packages.psutil  # where it is missing, the error comes before anything is started
    path = os.pathsep.join(filter(None, sys.path))  # so that the child imports what we import
    mark = uuid.uuid4().hex
    everything = {
        **os.environ,
        "PYTHONPATH": path,
        **env,
        FAMILY: f"{os.environ.get(FAMILY, '')} {mark}",
    }
    with subprocess.Popen(argv, env=everything, start_new_session=True, **streams) as process:
        try:
            yield process
        finally:
            _kill_family(process, mark)


def _kill_family(process: subprocess.Popen, mark: str) -> None:
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
    # Ended, or not ours.
    gone = (ProcessLookupError, PermissionError, packages.psutil.Error)
    for pid in packages.psutil.pids():
        with suppress(*gone):
            if _is_family(pid, process.pid, mark):
                packages.psutil.Process(pid).kill()
    process.kill()
    process.wait()


def _is_family(pid: int, session: int, mark: str) -> bool:
    """Whether it is a descendant, by session or by mark: torchrun gives each rank a session."""
    if CAN_FORK and os.getsid(pid) == session:
        return True
    return mark in packages.psutil.Process(pid).environ().get(FAMILY, "").split()


def _scratch_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def _callee(*arguments: str) -> list[str]:
    return python_command("-m", "course_utils.diagnostics.processes.child_side", *arguments)


def _pack(function: Callable, arguments: tuple, path: Path) -> Path:
    from course_utils.diagnostics.processes.packing import pack  # needs dill

    return pack(function, arguments, path)
