"""Undoes what an answer does to the process while it is checked, and keeps it from ending it.

Against accidents and curiosity, not against malice: an answer owns the process it runs in.
"""

import builtins
import contextlib
import io
import math
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Iterator

MAX_KEPT_CHARS = 20_000

# Where an answer can leave a patch behind that later cells would trip over.
PATCHABLE = (
    "torch",
    "torch.Tensor",
    "torch.nn.Module",
    "torch.nn.Linear",
    "torch.nn.functional",
    "torch.autograd",
    "torch.optim.Optimizer",
    "torch.optim.AdamW",
    "torch.optim.SGD",
    "torch.amp.GradScaler",
    "torch.utils.checkpoint",
    "transformers.Trainer",
    "trl.GRPOTrainer",
    "trl.RewardTrainer",
    "trl.DPOTrainer",
    "trl.SFTTrainer",
)


class AnswerEnded(SystemExit):
    """Raised in place of ending the process."""


class Tail(io.TextIOBase):
    """A stream that counts all lines it is given and keeps the last characters of them."""

    def __init__(self) -> None:
        self.num_lines, self._kept = 0, ""

    def write(self, text: str) -> int:
        self.num_lines += text.count("\n")
        self._kept = (self._kept + text[-MAX_KEPT_CHARS:])[-MAX_KEPT_CHARS:]
        return len(text)

    def writable(self) -> bool:
        return True

    def lines(self) -> list[str]:
        return self._kept.splitlines()


@contextlib.contextmanager
def contained(printed: Tail) -> Iterator[None]:
    """Run a block whose prints go to `printed` and whose traces in the process are removed.

    Raises:
        AnswerEnded: the block called `sys.exit`, `os._exit`, `os.abort` or killed its process.
    """
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        warnings.catch_warnings(),
        _kept_random_states(),
        _kept_surroundings(),
        _kept_torch_modes(),
        _kept_attributes(),
        _no_way_out(),
    ):
        yield


@contextlib.contextmanager
def _kept_random_states() -> Iterator[None]:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    state = random.getstate()
    numpy_state = numpy.random.get_state() if numpy else None
    try:
        with torch.random.fork_rng() if torch else contextlib.nullcontext():
            yield
    finally:
        random.setstate(state)
        if numpy:
            numpy.random.set_state(numpy_state)


@contextlib.contextmanager
def _kept_surroundings() -> Iterator[None]:
    environment, folder, hook = dict(os.environ), os.getcwd(), threading.excepthook
    threading.excepthook = lambda args: print(f"a thread ended with {args.exc_type.__name__}")
    try:
        yield
    finally:
        threading.excepthook = hook
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(folder)


@contextlib.contextmanager
def _kept_torch_modes() -> Iterator[None]:
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    anomaly, cpu_autocast = torch.is_anomaly_enabled(), torch.is_autocast_enabled("cpu")
    hooks = [h for n, h in vars(torch.nn.modules.module).items() if n.startswith("_global_")]
    hooks = [(h, dict(h)) for h in hooks if isinstance(h, dict)]
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if torch.are_deterministic_algorithms_enabled() != deterministic:
            torch.use_deterministic_algorithms(deterministic)  # imports the whole compiler
        torch.autograd.set_detect_anomaly(anomaly)
        torch.set_autocast_enabled("cpu", cpu_autocast)
        for hook, before in hooks:
            if dict(hook) != before:
                hook.clear()
                hook.update(before)


@contextlib.contextmanager
def _kept_attributes() -> Iterator[None]:
    owners = [builtins, math, *filter(None, map(_loaded, PATCHABLE))]
    before = [dict(vars(owner)) for owner in owners]
    try:
        yield
    finally:
        for owner, known in zip(owners, before, strict=True):
            now = dict(vars(owner))
            for name in now.keys() - known.keys():
                if isinstance(owner, type):  # a module may have imported a submodule of its own
                    delattr(owner, name)
            for name, value in known.items():
                if now.get(name) is not value:
                    setattr(owner, name, value)


def _loaded(path: str) -> object | None:
    """The module or class at a dotted path, if what holds it has been imported."""
    if path in sys.modules:
        return sys.modules[path]
    module, _, name = path.rpartition(".")
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


@contextlib.contextmanager
def _no_way_out() -> Iterator[None]:
    exits = {"_exit": os._exit, "abort": os.abort, "kill": os.kill}
    raise_signal, own = signal.raise_signal, os.getpid()

    def end(*_args) -> None:
        raise AnswerEnded("your code tried to end the process")

    def kill(pid: int, number: int) -> None:
        if os.getpid() == own and pid in (own, 0, -1):
            end()
        exits["kill"](pid, number)

    os._exit = os.abort = signal.raise_signal = end
    os.kill = kill
    try:
        yield
    finally:
        for name, function in exits.items():
            setattr(os, name, function)
        signal.raise_signal = raise_signal
