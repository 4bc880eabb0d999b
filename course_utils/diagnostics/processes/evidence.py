"""Reads the output of a dead process: its stack, exception and last line, and what is missing.

Text in, facts out. Nothing here runs anything.
"""

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

FATAL = re.compile(r"^(?:Fatal Python error|Windows fatal exception): (.+)$", re.M)
DUMP = re.compile(r"^(?:Current thread|Stack) .*\(most recent call first\):\n((?:  .*\n?)+)", re.M)
FRAME = re.compile(r'^  File "(.+)", line (\d+)(?: in |, in )(.+)$', re.M)
TRACEBACK = "Traceback (most recent call last):\n"
RAISED = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$")
WARNING = re.compile(r"^.+:\d+: \w+Warning: .*\n(?:  .*\n?)?", re.M)
OURS = ("child_side.py", "runpy.py", "<frozen runpy>")  # the frames that start every child
COURSE = str(Path(__file__).parents[2])  # as much a library as any other, for who calls it
INSTALLED = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
LIBRARIES = (*INSTALLED, COURSE, "<frozen")
MAX_LINE = 100

# What engineers look for first; an autopsy says which of them the output does not hold.
USUAL_EVIDENCE = {
    "a Python exception": r"^Traceback ",
    "nan or inf": r"\b(nan|inf)\b",
    "out of memory": r"out of memory|MemoryError",
}

# What usually sends a signal, and what to do about it.
# Sources: POSIX signal(7); Python's faulthandler.
MEANINGS = {
    "SIGFPE": "an integer division by zero, or the smallest integer divided by -1, in native code; "
    "float faults only if a program unmasked them",
    "SIGSEGV": "native code touched memory that is not its own",
    "SIGABRT": "native code gave up by itself: abort(), or a failed assertion",
    "SIGBUS": "a memory address without memory behind it, such as a full /dev/shm",
    "SIGILL": "an instruction that this processor does not have",
    "SIGKILL": "killed from outside, often by the kernel for using too much memory; no dump",
    "SIGTERM": "asked from outside to end, as a launcher does when another process failed",
}
FIXES = {
    "SIGFPE": "if it died in a matrix product on a GPU, print(diagnose_cublas("
    "read_cublas_environment())); else look at the line above for an integer division",
    "SIGSEGV": "call the line above alone, with num_workers=0 and nothing compiled; then look for "
    "an extension built for another torch or CUDA",
    "SIGABRT": "read .stderr to its end: what aborts says why",
    "SIGBUS": "give the container more shared memory (docker run --shm-size), or num_workers=0",
    "SIGILL": "install a build for this processor",
    "SIGKILL": "the kernel's log (dmesg) names who was killed for memory; lower batch size, "
    "sequence length or num_workers",
    "SIGTERM": "look for the process that failed before it",
}


@dataclass(frozen=True)
class Frame:
    """One line of a stack: the file's name without its folder, and whether a library owns it."""

    file: str
    line: int
    function: str
    is_library: bool
    is_distributed: bool = False  # torch.distributed: it speaks with other processes

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, in {self.function}"


def fault_in(stderr: str) -> str | None:
    """The fault handler's name for the death, such as "Floating point exception"."""
    match = FATAL.search(stderr)
    return match[1] if match else None


def exception_in(stderr: str) -> str | None:
    """The last line of the last Python traceback, such as "ValueError: no"."""
    if TRACEBACK not in stderr:
        return None
    lines = reversed(stderr.rpartition(TRACEBACK)[2].splitlines())
    return next((line for line in lines if RAISED.match(line)), None)


def stack_in(stderr: str, *, raised: bool = True) -> tuple[Frame, ...]:
    """The stack where it died, innermost frame first; empty if nothing was dumped."""
    if dump := DUMP.search(stderr):
        found = FRAME.findall(dump[1])
    elif raised and TRACEBACK in stderr:
        found = FRAME.findall(stderr.rpartition(TRACEBACK)[2])[::-1]
    else:
        found = []
    frames = tuple(_frame(*parts) for parts in found)
    return tuple(frame for frame in frames if frame.file not in OURS)


def last_line_in(stdout: str, stderr: str) -> str | None:
    """The last line written to stdout, else to stderr, apart from Python's warnings."""
    before_the_end = FATAL.split(stderr)[0].split(TRACEBACK)[0]
    lines = [*WARNING.sub("", before_the_end).splitlines(), *stdout.splitlines()]
    return next((line.strip() for line in reversed(lines) if line.strip()), None)


def missing_in(output: str) -> tuple[str, ...]:
    """Usual evidence that the output does not hold."""
    patterns = USUAL_EVIDENCE.items()
    return tuple(name for name, p in patterns if not re.search(p, output, re.M | re.I))


def own_frame(stack: tuple[Frame, ...]) -> Frame | None:
    """The innermost frame in the user's own code; else the innermost of all."""
    own = (frame for frame in stack if not frame.is_library)
    return next(own, stack[0] if stack else None)


def shorten(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 3]}..."


def _frame(path: str, line: str, function: str) -> Frame:
    # Notebook cells run as files in /tmp/ipykernel_<pid>/, or as "<ipython-input-3-...>".
    file = "notebook cell" if "ipykernel_" in path or "<ipython" in path else Path(path).name
    is_library = path.startswith(LIBRARIES) or "site-packages" in path
    return Frame(file, int(line), function, is_library, "/torch/distributed/" in path)
