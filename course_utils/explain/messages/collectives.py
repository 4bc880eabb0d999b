"""Combines the watchdog messages of several processes: which rank waits for which, and in what."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from course_utils.explain.messages.rank_paths import RankPaths
from course_utils.explain.messages.stacks import Stacks

AT_WORK = re.compile(r"Rank (\d+)\].*?detected by watchdog at work(?: sequence id)?: (\d+)")
WATCHED = re.compile(r"Rank (\d+)\].*?SeqNum=(\d+), OpType=(\w+)(?:, NumelIn=(\d+))?")
SAME_FOR = re.compile(  # how a paste is shortened
    r"\b(?:same|ditto|likewise|identical\w*)\b[^\d\n]{0,20}(?P<ranks>\d+(?:\s*(?:,|and|&)\s*\d+)+)",
    re.I,
)
OF_A_GROUP = re.compile(
    r"OpType=_?(?:ALLGATHER|REDUCE_SCATTER)\w*, NumelIn=(?P<into>\d+), NumelOut=(?P<out>\d+)"
)
UNSEEN = (
    "ranks 0 to {last} wait in the same {wait}, which {size} processes share; the other "
    "{missing} are not in this paste, and only their own last lines tell which of them did not "
    "come, and why (dead, in other code, waiting for data, or the network)"
)
ONE_ALONE = (
    "rank {last} waits in {wait}, which {size} processes share, and the output of the other "
    "{missing} is not in this paste: why one of them did not come (dead, in other code, waiting "
    "for data, or the network) is in no line here. Keep the output of all ranks and their flight "
    "recorder (TORCH_NCCL_TRACE_BUFFER_SIZE), dmesg and Xid errors, and go on from the last "
    "checkpoint to see whether it comes at the same step"
)
IS_ALONE = re.compile(  # "I only have what rank 0 wrote"
    r"\bonly\b[^.\n]{0,40}\brank ?0\b|\brank ?0(?:'s)?(?: \w+){0,2} only\b|"
    r"\b(?:other|remaining) ranks'? (?:\w+ ){0,3}(?:lost|gone|thrown|missing|not (?:kept|saved))",
    re.IGNORECASE,
)
_BROKEN_OFF = re.compile(r"Watchdog caught collective operation timeout:\s*$")
UNSET = 2**63  # what is above is written for a size that is not known
MAX_RANKS, MAX_MISSING = 1024, 7
ALL_WAIT = (
    "all processes wait in one and the same collective: none took another way, and none is seen to "
    "die; the network or a device between them stands, or a kernel before it does, and no "
    "rule tells which",
    "before any change: NCCL_DEBUG=INFO, the flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE), Xid "
    "errors in dmesg, nccl-tests on these GPUs; a longer timeout alone is a guess",
)
ONE_IS_MISSING = (
    "the processes wait in one collective for another that does not come: it has died, or is busy "
    "or waits elsewhere",
    "find what that process does: its own last lines and its own error are what counts",
)
PREPARES = re.compile(
    r"((?:Running tokenizer|Tokenizing|Converting format|Map|Filter|Packing|Grouping texts|"
    r"Generating \w+ split)\b[^:\n]{0,40}):\s+(\d+)%\|[^|]*\|\s*(\d+)/(\d+) \["
)
WAIT_FOR_DATA = (
    "the processes wait at a barrier while one of them prepares the data, and its work takes "
    "longer than the limit of a wait: no device and no network is at fault",
    "a longer limit (ddp_timeout, init_process_group(timeout=...)), more workers for the "
    "preparation (num_proc), or prepare the data once before, and load what was saved",
)
OTHER_SIZE = (
    "the processes bring different sizes to one collective: what is synchronised has another shape "
    "on one of them (a buffer that grew with the rows, a tensor that is not padded)",
    "find that tensor; DDP's own buffers: broadcast_buffers=False, or one fixed size on every rank",
)


@dataclass
class Collectives:
    """The first wait that each rank reports: its number, its operation, its size."""

    waits: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    at_work: dict[int, int] = field(default_factory=dict)  # the number that a rank is at
    stacks: Stacks = field(default_factory=Stacks)
    paths: RankPaths = field(default_factory=RankPaths)
    size: int = 0  # of the group, where an operation shows it
    prepared: str = ""  # how far the data is prepared when the first wait ends
    is_alone: bool = False  # somebody says that only rank 0's output is there
    _broken_off: str = ""  # a line of the watchdog that goes on in the next one

    def hear(self, where: str, text: str) -> None:
        if not self.waits and (bar := PREPARES.search(text)):
            name, share, done, whole = bar.groups()
            is_done = int(done) >= int(whole)
            self.prepared = "" if is_done else f"{where}: {name} is at {share}%, {done} of {whole}"
        self.stacks.hear(where, text)
        self.paths.hear(where, text)
        self.is_alone = self.is_alone or bool(IS_ALONE.search(text))
        text, self._broken_off = self._broken_off + text, ""
        if _BROKEN_OFF.search(text):
            self._broken_off = text
        found = WATCHED.search(text)
        if found and len(self.waits) < MAX_RANKS:
            rank, number, operation, size = found.groups()
            self.waits.setdefault(int(rank), (int(number), operation, size or ""))
            self.size = max(self.size, _size_of_group(text))
        elif self.waits and (found := SAME_FOR.search(text)):
            wait = next(reversed(self.waits.values()))
            for rank in map(int, re.findall(r"\d+", found["ranks"])):
                if rank < MAX_RANKS:
                    self.waits.setdefault(rank, wait)
        elif (found := AT_WORK.search(text)) and len(self.at_work) < MAX_RANKS:
            self.at_work.setdefault(int(found[1]), int(found[2]))

    def told(self) -> tuple[str, str] | None:
        """What waits and stacks say of the cause, and what to do; None where they say nothing."""
        if by_stacks := self.stacks.told():
            return by_stacks
        if by_paths := self.paths.told(self.waits):
            return by_paths
        if self.prepared:
            return WAIT_FOR_DATA
        waits, ranks = list(self.waits.values()), sorted({*self.waits, *self.at_work})
        if len(waits) < 2 or ranks != list(range(len(ranks))):
            return ONE_IS_MISSING if len(waits) > 1 and len(set(waits)) == 1 else None
        if len({wait[:2] for wait in waits}) > 1:
            return None
        return OTHER_SIZE if len(set(waits)) > 1 else ALL_WAIT

    def unseen(self) -> str:
        """That whole nodes are not in the paste, where the first ones all wait in one place."""
        ranks, waits = sorted(self.waits), set(self.waits.values())
        is_first = (len(ranks) > 1 or self.is_alone) and ranks == list(range(len(ranks)))
        if (
            not ranks
            or not is_first
            or len(waits) > 1
            or self.size < 2 * len(ranks)
            or self.prepared
        ):
            return ""
        if self.stacks.told() or self.paths.told(self.waits):
            return ""
        wait, missing = _said(waits.pop()), self.size - len(ranks)
        said = UNSEEN if len(ranks) > 1 else ONE_ALONE
        return said.format(last=ranks[-1], wait=wait, size=self.size, missing=missing)

    def evidence(self) -> tuple[str, ...]:
        """In which operation the ranks wait, whether it is the same one, and their stacks."""
        bar = (self.prepared,) if self.prepared else ()
        shown = (*self.stacks.evidence(), *self.paths.evidence(self.waits))
        return (*bar, *self._waits_said(), *shown)

    def _waits_said(self) -> tuple[str, ...]:
        if not self.waits:
            return ()
        (one, mine), *others = sorted(self.waits.items())
        for rank, wait in others:
            if wait != mine:
                apart = f"rank {one} waits in {_said(mine)}, rank {rank} in {_said(wait)}"
                is_size = wait[:2] == mine[:2]
                return (apart if is_size else f"{apart}: they took different ways",)
        ranks = sorted({*self.waits, *(r for r, n in self.at_work.items() if n == mine[0])})
        wait = (
            f"ranks {_listed(ranks)} wait in the same" if len(ranks) > 1 else f"rank {one} waits in"
        )
        return (f"{wait} {_said(mine)}", *_not_heard(ranks, self.stacks.frames))


def _size_of_group(text: str) -> int:
    """How many processes share an operation that gathers, or scatters, to all."""
    found = OF_A_GROUP.search(text)
    small, large = sorted((int(found["into"]), int(found["out"]))) if found else (0, 0)
    return large // small if small and not large % small else 0


def _not_heard(ranks: list[int], dumped: Collection[int]) -> tuple[str, ...]:
    """The ranks of which the log says nothing, as far as its numbers show that they exist."""
    missing = sorted(set(range(ranks[-1])) - set(ranks) - set(dumped))
    if ranks == [0]:
        return ("the log shows no wait of any other rank: look at their output first",)
    if not missing or len(missing) > MAX_MISSING:
        return ()
    which = f"rank{'s' if len(missing) > 1 else ''} {_listed(missing)}"
    return (f"the log shows no wait of {which}: look at that output first",)


def _listed(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks))


def _said(wait: tuple[int, str, str]) -> str:
    number, operation, size = wait
    if size == "1":
        return f"{operation} number {number} of one number (a barrier, a flag, or a length)"
    return f"{operation} number {number}" + (
        f" of {size} numbers" if size and int(size) < UNSET else ""
    )
