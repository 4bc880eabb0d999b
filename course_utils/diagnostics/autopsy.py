"""How a child process died, read from what it left: exit code, fault handler dump, last words.

Nothing here explains a death: it says what is in the evidence and what is not.
"""

import re
import signal
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.diagnostics.children import (
    Ending,
    WarmParent,
    call_in_process,
    python_command,
    run_process,
)
from course_utils.diagnostics.traps import SELF_RAISED
from course_utils.errors import BadRequest
from course_utils.report import Report, Table

FATAL = re.compile(r"^(?:Fatal Python error|Windows fatal exception): (.+)$", re.M)
DUMP = re.compile(r"^(?:Current thread|Stack) .*\(most recent call first\):\n((?:  .*\n?)+)", re.M)
FRAME = re.compile(r'^  File "(.+)", line (\d+)(?: in |, in )(.+)$', re.M)
TRACEBACK = "Traceback (most recent call last):\n"
RAISED = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$")
WARNING = re.compile(r"^.+:\d+: \w+Warning: .*\n(?:  .*\n)?", re.M)
OURS = ("callee.py", "runpy.py", "<frozen runpy>")  # the frames that start every child
COURSE = str(Path(__file__).parents[1])  # as much a library as any other, for who calls it
INSTALLED = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
LIBRARIES = (*INSTALLED, COURSE, "<frozen")
MAX_LINE = 100

# What engineers look for first; an autopsy says which of them the output does not hold.
USUAL_EVIDENCE = {
    "a Python exception": r"^Traceback ",
    "nan or inf": r"\b(nan|inf)\b",
    "out of memory": r"out of memory|MemoryError",
}

# Sources: POSIX signal(7); Python's faulthandler. Kept out of the table: evidence comes first.
MEANINGS = {
    "SIGFPE": "an integer division by zero, or the smallest integer divided by -1, in native code; "
    "float faults only if a program unmasked them",
    "SIGSEGV": "native code touched memory that is not its own",
    "SIGABRT": "native code gave up by itself: abort(), or a failed assertion",
    "SIGBUS": "a memory address without memory behind it, such as a full /dev/shm",
    "SIGILL": "an instruction that this processor does not have",
    "SIGKILL": "killed from outside, often by the kernel for using too much memory; no dump",
}


@dataclass(frozen=True)
class Frame:
    """One line of a stack: the file's name without its folder, and whether a library owns it."""

    file: str
    line: int
    function: str
    is_library: bool

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, in {self.function}"


@dataclass(frozen=True)
class Autopsy(Report):
    """How a child ended. The text holds no folders, addresses or times.

    >>> import sys
    >>> print(run_in_child(sys.exit, 3).headline)
    the child ended with exit code 3
    """

    exit_code: int
    timed_out: bool
    stdout: str
    stderr: str
    timeout_s: float

    @property
    def signal_name(self) -> str | None:
        """SIGFPE and the like; None if no signal ended the child, or the time limit did."""
        if self.exit_code >= 0 or self.timed_out:
            return None
        return signal.Signals(-self.exit_code).name

    @property
    def fault(self) -> str | None:
        """The fault handler's name for the death, such as "Floating point exception"."""
        match = FATAL.search(self.stderr)
        return match[1] if match else None

    @property
    def exception(self) -> str | None:
        """The last line of the last Python traceback, such as "ValueError: no"."""
        lines = reversed(self.stderr.rpartition(TRACEBACK)[2].splitlines())
        found = next((line for line in lines if RAISED.match(line)), None)
        return found if TRACEBACK in self.stderr and self.exit_code == 1 else None

    @property
    def outcome(self) -> str:
        """One word or two: lived, a signal's name, an exception's type, time limit, exit code."""
        if self.timed_out:
            return "time limit"
        if self.exception:
            return RAISED.match(self.exception)[1].rpartition(".")[2]
        return self.signal_name or ("lived" if self.exit_code == 0 else f"exit {self.exit_code}")

    @property
    def meaning(self) -> str | None:
        """What usually sends this signal."""
        return MEANINGS.get(self.signal_name)

    @property
    def stack(self) -> tuple[Frame, ...]:
        """Where it died, innermost frame first; empty if nothing was dumped."""
        dump = DUMP.search(self.stderr)
        if dump:
            found = FRAME.findall(dump[1])
        elif self.exception:
            found = FRAME.findall(self.stderr.rpartition(TRACEBACK)[2])[::-1]
        else:
            found = []
        frames = tuple(_frame(*parts) for parts in found)
        return tuple(frame for frame in frames if frame.file not in OURS)

    @property
    def last_line(self) -> str | None:
        """The last thing written to stdout, or else to stderr, but for Python's warnings."""
        before_the_end = FATAL.split(self.stderr)[0].split(TRACEBACK)[0]
        lines = [*WARNING.sub("", before_the_end).splitlines(), *self.stdout.splitlines()]
        return next((line.strip() for line in reversed(lines) if line.strip()), None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Usual evidence that the output does not hold."""
        output = f"{self.stdout}\n{self.stderr}"
        return tuple(
            name
            for name, pattern in USUAL_EVIDENCE.items()
            if not re.search(pattern, output, re.M | re.I)
        )

    @property
    def headline(self) -> str:
        if self.timed_out:
            return f"the child was still running after {self.timeout_s:g} s and was stopped"
        if self.signal_name:
            number = -self.exit_code
            codes = f"signal {number}; return code {-number}; a shell prints status {128 + number}"
            return f"the child died of {self.signal_name} ({codes})"
        if self.exception:
            return f"the child ended with exit code 1: {_shorten(self.exception)}"
        if self.exit_code > 0x8000_0000:  # Windows has no signals, only status codes
            return f"the child died of Windows status {self.exit_code:#X}"
        return f"the child ended with exit code {self.exit_code}"

    def table(self) -> Table:
        rows = [("last line of output", _shorten(self.last_line or "none"))]
        if self.stack:
            where = "was in" if self.timed_out else "died in"
            rows.append((where, str(self.stack[0])))
            caller = next((frame for frame in self.stack if not frame.is_library), self.stack[0])
            if caller != self.stack[0]:
                rows.append(("called from", str(caller)))
        if self.fault and not self.timed_out:
            rows.insert(0, ("fault handler", self.fault))
        if SELF_RAISED in self.stderr:
            rows.insert(0, ("the signal", SELF_RAISED))
        if self.exit_code:
            rows.append(("not in the log", ", ".join(self.missing) or "nothing is missing"))
        return Table(columns=("evidence", "found"), rows=rows)

    def to_dict(self) -> dict:
        found = {name: getattr(self, name) for name in ("exit_code", "timed_out", "signal_name")}
        found |= {name: getattr(self, name) for name in ("fault", "exception", "outcome")}
        stack = [asdict(frame) for frame in self.stack]
        return {**found, "stack": stack, "last_line": self.last_line, "missing": list(self.missing)}


def run_in_child(
    target: Callable | str | Path | Sequence[str],
    *args: object,
    timeout_s: float = 60.0,
    env: Mapping[str, str] | None = None,
) -> Autopsy:
    """Run a function, a Python script or a command line in a child, and say how it ended.

    Args:
        target: a function (of a module, a notebook or a closure), the path of a Python script, or
            a list of strings that is a whole command.
        args: what the function is called with, or the script's arguments.
        timeout_s: after that long the child writes its stack and is killed.
        env: environment variables to add.

    Raises:
        BadRequest: the script does not exist, or the function cannot be copied into a child.

    The child and all that it started are gone when this returns or is interrupted.

    >>> run_in_child(exec, "print('step 1', flush=True); import os; os.abort()").signal_name
    'SIGABRT'
    """
    env = dict(env or {})
    if callable(target):
        ending = call_in_process(target, args, timeout_s=timeout_s, env=env)
    elif isinstance(target, str | Path):
        if not Path(target).is_file():
            raise BadRequest(
                f"there is no script {str(target)!r}",
                why="a string or a path names a Python script to run",
                fix="give an existing path, or a list such as ['python', '-c', '...']",
            )
        command = python_command(str(target), *map(str, args))
        ending = run_process(command, timeout_s=timeout_s, env=env)
    else:
        ending = run_process([*map(str, target), *map(str, args)], timeout_s=timeout_s, env=env)
    return _autopsy(ending, timeout_s)


@contextmanager
def warm_children(
    *, preload: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Iterator[Callable[..., Autopsy]]:
    """Yield `run(function, *args, timeout_s=60)`: like run_in_child, without its slow imports.

    The modules named in `preload`, and those a function's globals name, are imported once.

    >>> import sys
    >>> with warm_children(preload=["json"]) as run:
    ...     [run(sys.exit, code).exit_code for code in (0, 3)]
    [0, 3]
    """
    with WarmParent(preload=preload, env=env) as parent:

        def run(function: Callable, *args: object, timeout_s: float = 60.0) -> Autopsy:
            return _autopsy(parent.run(function, args, timeout_s=timeout_s), timeout_s)

        yield run


def _autopsy(ending: Ending, timeout_s: float) -> Autopsy:
    return Autopsy(**asdict(ending), timeout_s=timeout_s)


def _frame(path: str, line: str, function: str) -> Frame:
    # Notebook cells run as files in /tmp/ipykernel_<pid>/, or as "<ipython-input-3-...>".
    file = "notebook cell" if "ipykernel_" in path or "<ipython" in path else Path(path).name
    is_library = path.startswith(LIBRARIES) or "site-packages" in path
    return Frame(file, int(line), function, is_library)


def _shorten(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 3]}..."
