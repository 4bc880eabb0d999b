"""Combines the watchdog messages of several processes: which rank waits for which, and in what."""

import re
from dataclasses import dataclass, field

WATCHED = re.compile(r"Rank (\d+)\].*?SeqNum=(\d+), OpType=(\w+)(?:, NumelIn=(\d+))?")
MAX_RANKS = 1024


@dataclass
class Collectives:
    """The first wait that each rank reports: its number, its operation, its size."""

    waits: dict[int, tuple[int, str, str]] = field(default_factory=dict)

    def hear(self, text: str) -> None:
        found = WATCHED.search(text)
        if found and len(self.waits) < MAX_RANKS:
            rank, number, operation, size = found.groups()
            self.waits.setdefault(int(rank), (int(number), operation, size or ""))

    def evidence(self) -> tuple[str, ...]:
        """In which operation the ranks wait, and whether it is the same one."""
        if len(self.waits) < 2:
            return ()
        (one, mine), *others = sorted(self.waits.items())
        for rank, wait in others:
            if wait != mine:
                return (
                    f"rank {one} waits in {_said(mine)}, rank {rank} in {_said(wait)}: they took "
                    "different ways through the code",
                )
        return (
            f"ranks {', '.join(map(str, sorted(self.waits)))} wait in the same {_said(mine)}: a "
            "rank that is not among them did not get there",
        )


def _said(wait: tuple[int, str, str]) -> str:
    number, operation, size = wait
    return f"{operation} number {number}" + (f" of {size} numbers" if size else "")
