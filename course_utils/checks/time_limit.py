"""Stops code that runs too long, so that an endless loop in an answer cannot block the kernel."""

import contextlib
import ctypes
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

AGAIN_S = 0.5  # an answer that swallows the first interruption gets another
# One that swallows two as well gets them so fast that one falls into its `except`.
SOON_S = (1e-6, 3e-5)
OWN_FOLDERS = (str(Path(__file__).parents[1]), contextlib.__file__)


class TimeLimitReached(BaseException):
    """Raised at the limit; not an Exception, so that an answer's `except` does not swallow it."""


@contextmanager
def time_limit(seconds: float, *, slack: float = 1.0) -> Iterator[None]:
    """Raise TimeLimitReached in the body once it has used `seconds`.

    They are seconds of this process's processor time, so that a busy machine does not count against
    the body; `slack` times as many seconds of the clock end a body that waits, too.

    On Linux and macOS, in the main thread, a timer signal does it, which also ends a sleep or a
    wait. Elsewhere another thread raises it between two Python instructions, so a single
    long call into C is only interrupted when it returns.

    >>> with time_limit(5):
    ...     print("done")
    done
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    by = _by_signal if in_main_thread and hasattr(signal, "setitimer") else _by_thread
    with by(seconds, _is_over(seconds, slack)):
        yield


def _is_over(seconds: float, slack: float) -> Callable[[], bool]:
    cpu_end, clock_end = time.process_time() + seconds, time.monotonic() + slack * seconds
    return lambda: time.process_time() >= cpu_end or time.monotonic() >= clock_end


@contextmanager
def _by_signal(seconds: float, is_over: Callable[[], bool]) -> Iterator[None]:
    times, done = 0, False

    def stop(_signum: int, frame: FrameType) -> None:
        nonlocal times
        if not is_over():
            return
        times += 1
        if times > 2:  # never into the code that cleans up after the answer
            if done or frame.f_code.co_filename.startswith(OWN_FOLDERS):
                return
            signal.setitimer(signal.ITIMER_REAL, random.uniform(*SOON_S), 1e-3)
        raise TimeLimitReached

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        done = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _by_thread(seconds: float, is_over: Callable[[], bool]) -> Iterator[None]:
    target, done = threading.get_ident(), threading.Event()

    def stop() -> None:
        wait_s = seconds
        while not done.wait(wait_s):
            if is_over():
                _raise_in(target)
            wait_s = AGAIN_S

    watchdog = threading.Thread(target=stop, daemon=True)
    watchdog.start()
    try:
        yield
    finally:
        done.set()
        watchdog.join()
        take_interruption()


def _raise_in(thread: int) -> None:
    """Raise TimeLimitReached in a thread, in place of an exception it has not received yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(TimeLimitReached)
    )


def take_interruption() -> None:
    """Receive an interruption from another thread that is still on its way, and drop it.

    CPython 3.11 goes on looking for one that was withdrawn (SetAsyncExc with NULL) or whose thread
    has ended, and at the first call under `sys.setprofile` it looks for ever.
    """
    with contextlib.suppress(TimeLimitReached):
        _raise_in(threading.get_ident())
        while True:
            pass
