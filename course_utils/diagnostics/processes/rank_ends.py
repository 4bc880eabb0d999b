"""How each process of a launched run ended, and which of them the others waited for."""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from course_utils.diagnostics.libraries.frames import BACKWARD
from course_utils.diagnostics.processes.evidence import (
    FIXES,
    MEANINGS,
    Frame,
    exception_in,
    last_line_in,
    own_frame,
    shorten,
    stack_in,
)
from course_utils.diagnostics.processes.launcher import Rank
from course_utils.diagnostics.processes.memory import say_bytes
from course_utils.shown.report import Table

PREFIX = re.compile(r"^\[rank\d+\]: ?", re.M)  # torch.distributed puts it before each line


@dataclass(frozen=True)
class RankEnd:
    """One rank's end. `exit_code` is None if the launcher did not say, or ended it itself."""

    rank: int
    exit_code: int | None
    was_running: bool  # when the time limit came
    is_first: bool  # the launcher saw this one fail first
    ended_s: float | None  # seconds after the start
    peak_memory: int | None
    last_line: str | None
    exception: str | None
    stack: tuple[Frame, ...]

    @property
    def signal_name(self) -> str | None:
        if self.was_running or self.exit_code is None or self.exit_code >= 0:
            return None
        return signal.Signals(-self.exit_code).name

    @property
    def outcome(self) -> str:
        """The end of a rank in a few words, such as "died of SIGSEGV"."""
        if self.was_running:
            return f"running, {self.waits}" if self.waits else "running"
        if self.exception:
            return f"raised {shorten(self.exception)}"
        if self.signal_name:
            return f"died of {self.signal_name}"
        if self.exit_code is None:
            return "ended by the launcher"
        return f"exit code {self.exit_code}" if self.exit_code else "ended well"

    @property
    def waits(self) -> str:
        """The call it waits in, from its stack; "" if it does not wait for other ranks."""
        spoken = [frame for frame in self.stack if frame.is_distributed]
        if spoken:
            return f"waits for the others in {spoken[0].function}"
        if any(frame.function == BACKWARD for frame in self.stack):
            return "waits in backward(), where gradients are summed"
        return ""

    @property
    def place(self) -> str:
        frame = own_frame(self.stack)
        return str(frame) if frame else "no stack"


def rank_end(rank: Rank, first: int | None) -> RankEnd:
    """Read one rank's output."""
    stderr = PREFIX.sub("", rank.stderr)
    raised = None if rank.was_running else exception_in(stderr)
    return RankEnd(
        rank=rank.number,
        exit_code=rank.exit_code,
        was_running=rank.was_running,
        is_first=rank.number == first,
        ended_s=rank.ended_s,
        peak_memory=rank.memory.bytes,
        last_line=last_line_in(rank.stdout, stderr),
        exception=raised,
        stack=stack_in(stderr),
    )


def describe(ranks: Sequence[RankEnd], exit_code: int, timeout_s: float, *, timed_out: bool) -> str:
    """The headline: which rank stopped first, or which waits for which."""
    if timed_out:
        return f"{_say_hang(ranks)}; all were stopped after {timeout_s:g} s"
    first = next((rank for rank in ranks if rank.is_first), None)
    if first is None:
        ended = "ended well" if exit_code == 0 else f"ended, the launcher with {exit_code}"
        return f"{len(ranks)} of {len(ranks)} ranks {ended}"
    at = f" in {first.place}" if first.stack else ""
    return f"rank {first.rank} of {len(ranks)} stopped first: {first.outcome}{at}"


def ranks_table(ranks: Sequence[RankEnd]) -> Table:
    """One row per rank."""
    rows = [
        (
            str(r.rank),
            r.outcome,
            r.place,
            shorten(r.last_line or "none"),
            say_bytes(r.peak_memory),
        )
        for r in ranks
    ]
    return Table(("rank", "end", "at", "last line", "peak memory"), rows=rows)


def _say_hang(ranks: Sequence[RankEnd]) -> str:
    running = [rank for rank in ranks if rank.was_running]
    waiting = [rank for rank in running if rank.waits]
    late = [rank for rank in running if not rank.waits]
    if not waiting:
        return f"{len(running)} of {len(ranks)} ranks were still running, none waits for another"
    names = " and ".join(f"rank {r.rank} {r.waits} ({r.place})" for r in waiting)
    if late:
        others = " and ".join(f"rank {r.rank} never came: it was in {r.place}" for r in late)
        return f"a hang: {names}; {others}"
    if len(waiting) < len(ranks):
        ended = ", ".join(str(r.rank) for r in ranks if not r.was_running)
        return f"a hang: {names}; rank {ended} had ended"
    return f"a hang: every rank waits: {names}"


def advise(ranks: Sequence[RankEnd]) -> tuple[str, str]:
    """The cause and the fix, as far as the output shows them; otherwise two empty strings."""
    running = [rank for rank in ranks if rank.was_running]
    waiting = [rank for rank in running if rank.waits]
    late = [rank for rank in running if not rank.waits]
    first = next((rank for rank in ranks if rank.is_first), None)
    if waiting and late:
        return (
            f"rank {late[0].rank} did not enter the collective that the others wait in",
            f"make {late[0].place} end, or let every rank take that way: each must call the same "
            "collectives, in the same order",
        )
    if len(waiting) > 1 and len({rank.place for rank in waiting}) > 1:
        return (
            "ranks wait in different collectives",
            "find the branch that one rank took and another did not, such as `if rank == 0:` "
            "around a gather, a save or an evaluation",
        )
    if waiting:
        return (
            "the ranks wait for one another, or for one that has ended",
            "see what the last lines say; NCCL_DEBUG=INFO or TORCH_DISTRIBUTED_DEBUG=DETAIL names "
            "the collective",
        )
    if first is not None:
        meaning = MEANINGS.get(first.signal_name) or f"rank {first.rank} {first.outcome}"
        start = first.place if first.stack else "the last line of its output"
        others = "the launcher ended the other ranks for it, so what they say last is a consequence"
        return meaning, FIXES.get(first.signal_name) or f"start at {start}; {others}"
    return "", ""
