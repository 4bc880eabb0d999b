"""How a child process died, read from what it left: exit code, fault handler dump, last words.

Nothing here explains a death: it says what is in the evidence and what is not.
"""

import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.diagnostics.processes.children import (
    Ending,
    WarmParent,
    call_in_process,
    python_command,
    run_process,
)
from course_utils.diagnostics.processes.evidence import (
    FIXES,
    MEANINGS,
    RAISED,
    Frame,
    exception_in,
    fault_in,
    last_line_in,
    missing_in,
    own_frame,
    shorten,
    stack_in,
)
from course_utils.diagnostics.processes.launcher import launcher_at, run_launcher
from course_utils.diagnostics.processes.memory import say_bytes
from course_utils.diagnostics.processes.rank_ends import (
    RankEnd,
    advise,
    describe,
    rank_end,
    ranks_table,
)
from course_utils.diagnostics.processes.traps import SELF_RAISED
from course_utils.errors import BadRequest
from course_utils.shown.report import Report, Table


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
    peak_memory: int | None = None  # bytes, of the child itself; None where it was not measured
    ranks: tuple[RankEnd, ...] = ()  # of a run under a launcher

    @property
    def signal_name(self) -> str | None:
        """SIGFPE and the like; None if no signal ended the child, or the time limit did."""
        if self.exit_code >= 0 or self.timed_out:
            return None
        return signal.Signals(-self.exit_code).name

    @property
    def fault(self) -> str | None:
        """The fault handler's name for the death, such as "Floating point exception"."""
        return fault_in(self.stderr)

    @property
    def exception(self) -> str | None:
        """The last line of the last Python traceback, such as "ValueError: no"."""
        return exception_in(self.stderr) if self.exit_code == 1 else None

    @property
    def outcome(self) -> str:
        """One or two words: lived, a signal's name, an exception's type, time limit, exit code."""
        if self.timed_out:
            return "time limit"
        if self.exception:
            return RAISED.match(self.exception)[1].rpartition(".")[2]
        return self.signal_name or ("lived" if self.exit_code == 0 else f"exit {self.exit_code}")

    @property
    def meaning(self) -> str | None:
        """The usual reason for this signal."""
        return MEANINGS.get(self.signal_name)

    @property
    def cause(self) -> str:
        """The usual reason for this signal; of several ranks, what the others waited for."""
        return advise(self.ranks)[0] if self.ranks else self.meaning or ""

    @property
    def fix(self) -> str:
        """What to do about this signal, or about a run that does not end."""
        if self.ranks:
            return advise(self.ranks)[1]
        if self.timed_out:
            return "look why the line above does not return, or give more than timeout_s="
        return FIXES.get(self.signal_name, "")

    @property
    def stack(self) -> tuple[Frame, ...]:
        """The stack where it died, innermost frame first; empty if nothing was dumped."""
        return stack_in(self.stderr, raised=self.exception is not None)

    @property
    def last_line(self) -> str | None:
        """The last line written to stdout, else to stderr, apart from Python's warnings."""
        return last_line_in(self.stdout, self.stderr)

    @property
    def missing(self) -> tuple[str, ...]:
        """Usual evidence that the output does not hold."""
        return missing_in(f"{self.stdout}\n{self.stderr}")

    @property
    def headline(self) -> str:
        if self.ranks:
            return describe(self.ranks, self.exit_code, self.timeout_s, timed_out=self.timed_out)
        if self.timed_out:
            return f"the child was still running after {self.timeout_s:g} s and was stopped"
        if self.signal_name:
            number = -self.exit_code
            codes = f"signal {number}; return code {-number}; a shell prints status {128 + number}"
            return f"the child died of {self.signal_name} ({codes})"
        if self.exception:
            return f"the child ended with exit code 1: {shorten(self.exception)}"
        if self.exit_code > 0x8000_0000:  # Windows has no signals, only status codes
            return f"the child died of Windows status {self.exit_code:#X}"
        return f"the child ended with exit code {self.exit_code}"

    def table(self) -> Table:
        if self.ranks:
            return ranks_table(self.ranks)
        rows = [("last line of output", shorten(self.last_line or "none"))]
        if self.stack:
            where = "was in" if self.timed_out else "died in"
            rows.append((where, str(self.stack[0])))
            caller = own_frame(self.stack)
            if caller != self.stack[0]:
                rows.append(("called from", str(caller)))
        if self.fault and not self.timed_out:
            rows.insert(0, ("fault handler", self.fault))
        if SELF_RAISED in self.stderr:
            rows.insert(0, ("the signal", SELF_RAISED))
        if self.exit_code:
            rows.append(("not in the log", ", ".join(self.missing) or "nothing is missing"))
        if self.exit_code and self.peak_memory:
            rows.append(("peak memory", say_bytes(self.peak_memory)))
        return Table(columns=("evidence", "found"), rows=rows)

    def to_dict(self) -> dict:
        found = {name: getattr(self, name) for name in ("exit_code", "timed_out", "signal_name")}
        found |= {name: getattr(self, name) for name in ("fault", "exception", "outcome")}
        found |= {name: getattr(self, name) for name in ("last_line", "meaning", "cause", "fix")}
        found |= {"peak_memory": self.peak_memory, "missing": list(self.missing)}
        stack = [asdict(frame) for frame in self.stack]
        return {**found, "stack": stack, "ranks": [asdict(rank) for rank in self.ranks]}


def run_in_child(
    target: Callable | str | Path | Sequence[str],
    *args: object,
    timeout_s: float = 60.0,
    env: Mapping[str, str] | None = None,
    preload: Sequence[str] = (),
) -> Autopsy:
    """Run a function, a Python script or a command line in a child, and say how it ended.

    Args:
        target: a function (of a module, a notebook or a closure), the path of a Python script, or
            a list of strings that is a whole command. Under torchrun, `accelerate launch` or
            `python -m torch.distributed.run`, `ranks` holds the end of each process.
        args: what the function is called with, or the script's arguments.
        timeout_s: after that long the child writes its stack and is killed.
        env: environment variables to add.
        preload: modules that a function imports inside itself; they are imported before the
            time limit begins to count. A script or a command has none.

    Raises:
        BadRequest: the script does not exist, the function cannot be copied into a child, or
            what has no `preload` is given one.

    The child and all that it started are gone when this returns or is interrupted.

    >>> run_in_child(exec, "print('step 1', flush=True); import os; os.abort()").signal_name
    'SIGABRT'
    """
    env = dict(env or {})
    if preload:
        return _run_warm(target, args, preload, timeout_s=timeout_s, env=env)
    if callable(target):
        ending = call_in_process(target, args, timeout_s=timeout_s, env=env)
    elif isinstance(target, str | Path):
        if not Path(target).is_file():
            words = shlex.split(str(target))
            example = words if len(words) > 1 else ["python", "-c", "..."]
            raise BadRequest(
                f"there is no script {str(target)!r}",
                why="a string or a path names a Python script to run",
                fix=f"give an existing path; a whole command is a list: {example}",
            )
        command = python_command(str(target), *map(str, args))
        ending = run_process(command, timeout_s=timeout_s, env=env)
    else:
        argv = _command(target, args)
        if (at := launcher_at(argv)) is not None:
            launched = run_launcher(argv, at, timeout_s=timeout_s, env=env)
            ranks = tuple(rank_end(rank, launched.first) for rank in launched.ranks)
            return _autopsy(launched.ending, timeout_s, ranks)
        ending = run_process(argv, timeout_s=timeout_s, env=env)
    return _autopsy(ending, timeout_s)


def _run_warm(target: object, args: tuple, preload: Sequence[str], *, timeout_s, env) -> Autopsy:
    if not callable(target):
        raise BadRequest(
            f"preload={list(preload)} is given for {target!r}",
            why="a script or a command imports what it needs itself, in its own interpreter",
            fix="leave preload out, and give the time that the imports take with timeout_s=",
        )
    with warm_children(preload=preload, env=env) as run:
        return run(target, *args, timeout_s=timeout_s)


def _command(target: object, args: tuple) -> list[str]:
    if isinstance(target, Sequence) and target:
        return [*map(str, target), *map(str, args)]
    raise BadRequest(
        f"{type(target).__name__} {target!r} cannot be run in a child",
        why="a child runs a function, a Python script or a command",
        fix="pass the function itself (train, not train()), a path, or a list such as "
        "['torchrun', '--nproc-per-node', '2', 'train.py']",
    )


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


def _autopsy(ending: Ending, timeout_s: float, ranks: tuple[RankEnd, ...] = ()) -> Autopsy:
    return Autopsy(**asdict(ending), timeout_s=timeout_s, ranks=ranks)
