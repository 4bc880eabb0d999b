"""Starts a warm process, with or without walls, and asks it to fork workers and to end them."""

import contextlib
import json
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from course_utils.box.confine import SCRATCH
from course_utils.box.kind import Kind, environment, python, walls
from course_utils.box.memory import counted
from course_utils.box.zygote import READY
from course_utils.errors import GraderFailed

TOGETHER_MIB = 6144  # all processes of one box; each is held to far less
START_S, ANSWER_S, END_S = 300.0, 30.0, 5.0


class Warm:
    """One warm process; a context manager that leaves no process behind.

    Args:
        module: serves `box.zygote` on the descriptor that is its first argument.
        readable: folders it may read, and where it sees them behind walls.
        path: where it finds modules.
        home: its folder for scratch files, without walls; behind them it has its own.
    """

    def __init__(
        self,
        module: str,
        kind: Kind,
        readable: dict[Path, Path],
        path: list[Path],
        *arguments: str,
        home: Path,
    ) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        home = SCRATCH if kind.has_walls else str(home)
        is_outer = kind.has_walls and not kind.is_within
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        descriptor = str(theirs.fileno())
        command = [
            *(walls(readable, scratch_mib=512) if is_outer else ()),
            *python(module, descriptor, str(int(kind.has_walls)), *arguments),
        ]
        self._counted = contextlib.ExitStack()
        if is_outer:
            command = self._counted.enter_context(counted(command, TOGETHER_MIB))
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=environment(*path, home=home),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._is_ready = False

    def fork(self, request: dict, *sockets: socket.socket) -> int:
        """Start a new worker with `sockets`; returns its number, for `end`.

        Raises:
            GraderFailed: the warm process has ended or does not answer.
        """
        descriptors = [one.fileno() for one in sockets]
        return int(self._ask(request, descriptors))

    def end(self, worker: int) -> None:
        """End a worker and all that it started."""
        self._ask({"end": worker}, [])

    def _ask(self, request: dict, descriptors: list[int]) -> bytes:
        with self._lock:
            try:
                if not self._is_ready:
                    self._expect(READY, START_S)
                    self._is_ready = True
                self._control.settimeout(ANSWER_S)
                socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
                return self._line()
            except (OSError, ValueError) as error:
                raise self._failed(str(error)) from error

    def _expect(self, line: bytes, seconds: float) -> None:
        self._control.settimeout(seconds)
        if (got := self._line()) != line:
            raise ValueError(f"it said {got[:100]!r}")

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            part = self._control.recv(64)
            if not part:
                raise ValueError("it has ended")
            line += part
        return line

    def _failed(self, why: str) -> GraderFailed:
        self._end()
        self._log.seek(0)
        said = self._log.read()[-2000:].decode(errors="replace").strip().splitlines()
        self._log.close()
        return GraderFailed(
            f"a warm process of the grader does not answer: {why}",
            why="; ".join(said[-3:]) or "it said nothing",
            fix="grade again; if it stays, run `course doctor`",
        )

    def close(self) -> None:
        """End this process and every worker that is left."""
        self._end()
        self._log.close()

    def _end(self) -> None:
        self._control.close()  # it reads the end and returns
        try:
            self._process.wait(END_S if self._is_ready else 0)  # it reads nothing while it starts
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._counted.close()

    def __enter__(self) -> "Warm":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
