"""Runs a block of student code so that it can neither end the process nor leave traces in it.

Against accidents and curiosity, not against malice: an answer owns the process it runs in.
"""

import _thread
import contextlib
import io
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator

from IPython import get_ipython

from course_utils.checks import process_state

MAX_KEPT_CHARS = 20_000

# Every way to end this process from Python: by itself, or by becoming another program.
EXITS = ("_exit", "abort", "execv", "execve", "kill", "killpg")


class AnswerEnded(SystemExit):
    """Raised in place of ending the process."""


class Tail(io.TextIOBase):
    """A stream that counts its lines and keeps their last characters."""

    def __init__(self) -> None:
        self.num_lines, self._kept, self._size = 0, [], 0

    def write(self, text: str) -> int:
        self.num_lines += text.count("\n")
        self._kept.append(text[-MAX_KEPT_CHARS:])
        self._size += len(self._kept[-1])
        if self._size > 10 * MAX_KEPT_CHARS:  # seldom, so that a flood of prints stays cheap
            self._kept = [self._text()]
            self._size = len(self._kept[0])
        return len(text)

    def writable(self) -> bool:
        return True

    def lines(self) -> list[str]:
        return self._text().splitlines()

    def _text(self) -> str:
        return "".join(self._kept)[-MAX_KEPT_CHARS:]


class Interrupts:
    """Whether an interrupt came from outside, such as the reader's stop button."""

    def __init__(self) -> None:
        self.came = False


@contextlib.contextmanager
def contained(printed: Tail) -> Iterator[Interrupts]:
    """Run a block: its prints go to `printed`, its traces in the process are removed.

    Yields:
        Whether the reader interrupted the block; a KeyboardInterrupt that nobody sent was raised
        by the answer itself.

    Raises:
        AnswerEnded: the block tried to end its process, by whatever call.
    """
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        warnings.catch_warnings(),
        process_state.random_states(),
        process_state.surroundings(),
        process_state.torch_modes(),
        process_state.attributes(),
        process_state.signal_handlers(),
        process_state.threads(AnswerEnded),
        _noticed_interrupts() as interrupts,
        _exits_raise(),
    ):
        yield interrupts


@contextlib.contextmanager
def _noticed_interrupts() -> Iterator[Interrupts]:
    """Note each SIGINT before its handler runs; outside the main thread each counts."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        interrupts.came = True
        yield interrupts
        return
    handler = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        interrupts.came = True
        if callable(handler):
            handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _exits_raise() -> Iterator[None]:
    """Make every call that ends this process raise; children may still end as they like."""
    own, parent, system = os.getpid(), os.getppid(), os.kill
    replaced = [(os, name, getattr(os, name)) for name in EXITS if hasattr(os, name)]
    replaced += [(signal, "raise_signal", signal.raise_signal)]
    replaced += [(_thread, "interrupt_main", _thread.interrupt_main)]

    def only_in_a_child(function: Callable) -> Callable:
        def end(*args: object) -> object:
            if os.getpid() != own:
                return function(*args)
            raise AnswerEnded("your code tried to end the process")

        return end

    def kill(pid: int, number: int) -> None:
        if os.getpid() == own and (pid in (own, parent) or pid <= 0) and number:
            raise AnswerEnded("your code tried to end the process")
        system(pid, number)

    for owner, name, function in replaced:
        setattr(owner, name, kill if name == "kill" else only_in_a_child(function))
    shell = get_ipython()
    if shell is not None:
        shell.ask_exit = only_in_a_child(lambda: None)  # what `exit()` and `quit()` call
    try:
        yield
    finally:
        for owner, name, function in replaced:
            setattr(owner, name, function)
        if shell is not None:
            del shell.ask_exit
