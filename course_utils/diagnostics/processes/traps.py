"""IEEE float faults: read the processor's sticky flags, or make the first one end the process.

A float fault (0/0, overflow) normally only sets a flag and gives nan or inf. An integer division
by zero always traps, and is what SIGFPE usually means.
"""

import ctypes
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from course_utils.errors import Unsupported

# Source: glibc, sysdeps/x86/fpu/bits/fenv.h. The other two flags, denormal and inexact, are noise.
FLAGS = {"invalid": 0x01, "divide": 0x04, "overflow": 0x08}
FENV_BYTES = 64  # sizeof(fenv_t) is 32 on x86-64
SELF_RAISED = "this processor answers 1 / 0 with 0, so the child raises SIGFPE itself"


@contextmanager
def unmask_float_traps(
    *, invalid: bool = True, divide: bool = True, overflow: bool = True
) -> Iterator[None]:
    """Let the first float fault in the block kill the process with SIGFPE.

    Use it inside `run_in_child`: the fault handler then prints the Python line of the fault.
    The traps that were set before are restored, flags that were raised before are kept.

    Args:
        invalid: 0/0, inf - inf, inf * 0, and any comparison with or conversion of a nan.
        divide: a non-zero number divided by zero.
        overflow: a finite result too large for the format.

    Raises:
        Unsupported: not glibc on x86-64, where feenableexcept works.

    It misses (torch 2.13, CPU; a test holds this true):
        exp, log and sqrt, which make inf and nan without a flag; on some processors a cast to
        float16; all threads but this one; every GPU.
    It cries wolf:
        the vectorised softmax raises "invalid" for a legitimate -inf mask and "overflow" for
        logits more than about 88 apart, so a padded batch traps; sigmoid(-200) may overflow inside.
        Run the child with env={"ATEN_CPU_CAPABILITY": "default"}: without the vector kernels a
        masked softmax and a padded training step run clean. A module's first import may trap
        too (yaml and mpmath make an inf): do one step before the block.
        log_softmax and cross_entropy raise a flag on good numbers with the scalar kernels and with
        AVX-512: inside the block take logits - logits.logsumexp(-1).

    >>> with unmask_float_traps(divide=True):
    ...     1 + 1
    2
    """
    libm = _libm()
    chosen = {"invalid": invalid, "divide": divide, "overflow": overflow}
    mask = sum(FLAGS[name] for name, is_on in chosen.items() if is_on)
    before = ctypes.create_string_buffer(FENV_BYTES)
    libm.feholdexcept(before)  # keeps masks and flags, clears the flags
    libm.feenableexcept(mask)
    try:
        yield
    finally:
        libm.fesetenv(before)


@contextmanager
def float_flags() -> Iterator[set[str]]:
    """Yield a set that, once the block has ended, names the float faults that happened in it.

    Nothing is interrupted. It misses what `unmask_float_traps` misses, and cries wolf likewise.

    >>> with float_flags() as flags:
    ...     float("inf") - float("inf")
    nan
    >>> flags
    {'invalid'}
    """
    libm = _libm()
    seen: set[str] = set()
    before = ctypes.create_string_buffer(FENV_BYTES)
    libm.feholdexcept(before)
    try:
        yield seen
    finally:
        raised = libm.fetestexcept(sum(FLAGS.values()))
        libm.feupdateenv(before)  # the surrounding flags, and these as well
        seen.update(name for name, flag in FLAGS.items() if raised & flag)


def divide_integers_by_zero() -> None:
    """Die of SIGFPE as native code does: by an integer division. Only for child processes.

    64-bit Arm answers 1 / 0 with 0, so there this raises the signal itself and says so on stderr.

    >>> from course_utils.diagnostics import run_in_child
    >>> run_in_child(divide_integers_by_zero).signal_name
    'SIGFPE'
    """
    if sys.platform != "win32" and platform.machine() in ("x86_64", "i686"):
        _native_call()
    print(SELF_RAISED, file=sys.stderr, flush=True)
    signal.raise_signal(signal.SIGFPE)


def _native_call() -> None:
    """The innermost frame of the dump, whose name does not give the cause away."""
    ctypes.CDLL(None).div(1, 0)


def _libm() -> ctypes.CDLL:
    machine, libc = platform.machine(), platform.libc_ver()[0]
    if (sys.platform, machine, libc) != ("linux", "x86_64", "glibc"):
        raise Unsupported(
            f"float traps on {sys.platform}, {machine}, {libc or 'not glibc'}",
            why="feenableexcept is glibc's own, and the flags' numbers are those of x86-64",
            fix="run this part on x86-64 Linux; the rest of the course does not need it",
        )
    return ctypes.CDLL("libm.so.6")
