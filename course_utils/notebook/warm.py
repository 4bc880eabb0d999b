"""A process that imports once what lessons import, and forks itself for each of their kernels.

    with warm_process() as warm:
        subprocess.run(warm.command("ipykernel_launcher", ...))  # as python -m would

To import the libraries of a lesson takes a kernel seconds, and a fork nothing. Of our own modules
the warm process has only those that it needs itself. What is started is `forked.py`, which asks it
for a fork and stands for that. Linux only.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from course_utils.shown.quiet import THREADS, quiet_libraries

CAN_WARM = hasattr(os, "pidfd_open")
# What every lesson asks for; Jupyter looks into JUPYTER_PATH first.
KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
LIBRARIES = (
    *("ipykernel.kernelapp", "matplotlib_inline.backend_inline", "matplotlib.pyplot", "papermill"),
    *("torch", "transformers.trainer", "peft", "datasets"),
    *(f"trl.trainer.{kind}_trainer" for kind in ("dpo", "grpo", "reward", "sft")),
)
STDIN, NUM_STREAMS = 0, 3


@dataclass(frozen=True)
class Warm:
    """How to start what is forked from a warm process."""

    folder: Path

    def command(self, *module: str) -> list[str]:
        """What stands for `python -m MODULE ARGUMENT ...`."""
        forked = Path(__file__).with_name("forked.py")
        return [sys.executable, "-S", str(forked), str(self.folder / "socket"), *module]

    @property
    def is_there(self) -> bool:
        return (self.folder / "socket").exists()

    @property
    def env(self) -> dict[str, str]:
        """With this, kernels of Jupyter are forks."""
        paths = str(self.folder), os.environ.get("JUPYTER_PATH")
        return {"JUPYTER_PATH": os.pathsep.join(filter(None, paths))}


@contextlib.contextmanager
def warm_process(libraries: Iterable[str]) -> Iterator[Warm]:
    """Keep a warm process. What asks before its imports are done waits for them."""
    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        warm = Warm(Path(folder))
        kernel = warm.folder / "kernels" / KERNEL["name"]
        kernel.mkdir(parents=True)
        argv = warm.command("ipykernel_launcher", "-f", "{connection_file}")
        (kernel / "kernel.json").write_text(json.dumps({"argv": argv, **KERNEL}), encoding="utf-8")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(warm.folder / "socket"))
            listening.listen()
            process = _start(listening, *libraries)
        try:
            yield warm
        finally:
            process.stdin.close()  # it ends when it reads that, as it would if we were killed
            process.terminate()  # or now, if it is still importing
            process.wait()


def _start(listening: socket.socket, *libraries: str) -> subprocess.Popen:
    # What is read while they are imported, as Jupyter sets it for a kernel.
    env = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    env |= {"JPY_PARENT_PID": str(os.getpid())}
    return subprocess.Popen(
        [sys.executable, "-m", __name__, str(listening.fileno()), *libraries],
        env=os.environ | THREADS | env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[listening.fileno()],
        start_new_session=True,  # Ctrl-C reaches whoever keeps it
    )


def main() -> None:
    """Be the warm process; a fork of it gets out of `_serve` with what it has to run."""
    _, listening, *libraries = sys.argv
    quiet_libraries()
    for name in libraries:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each fork goes through all of it
    if request := _serve(socket.socket(fileno=int(listening))):
        _run(**request)


def _serve(listening: socket.socket) -> dict | None:
    """Fork for each connection until stdin is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a keeper
    while STDIN not in select.select([listening, STDIN], [], [])[0]:
        asked, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            return _keep(asked)
        asked.close()
    return None


def _keep(asked: socket.socket) -> dict:
    """Returns in a fork; stays with it, says how it ended, and ends it when nobody waits for it."""
    _, streams, *_ = socket.recv_fds(asked, 1, NUM_STREAMS)
    request = json.loads(asked.makefile().readline())
    if (fork := os.fork()) == 0:
        asked.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return request
    for stream in (*streams, *range(NUM_STREAMS)):
        os.close(stream)
    asked.sendall(f"{fork}\n".encode())
    ended = os.pidfd_open(fork)
    if ended not in select.select([asked, ended], [], [])[0]:  # it was killed who asked
        process = psutil.Process(fork)
        for one in (*process.children(recursive=True), process):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    code = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    with contextlib.suppress(OSError):
        asked.sendall(f"{code}\n".encode())
    os._exit(0)


def _run(argv: list[str], folder: str, env: dict[str, str]) -> None:
    """Be `python -m` in this folder and environment."""
    import numpy as np

    os.setsid()
    os.chdir(folder)
    before = _python_path()
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir, sys.path[0] = None, folder
    if before != _python_path():
        sys.path[1:] = [*_python_path(), *(path for path in sys.path[1:] if path not in before)]
        sys.modules.pop("sitecustomize", None)
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module("sitecustomize")  # as at Python's start
    np.random.seed()  # or all forks draw the same
    module, *sys.argv[1:] = argv
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _python_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


if __name__ == "__main__":
    main()
