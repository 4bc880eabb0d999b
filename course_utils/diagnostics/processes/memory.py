"""Peak memory of a process, read from outside while it lives. Linux only."""

import re
from pathlib import Path

PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.M)


class PeakMemory:
    """The largest resident size of a process in bytes; None if the kernel does not say.

    >>> import os
    >>> memory = PeakMemory(os.getpid())
    >>> memory.look()
    >>> memory.bytes is None or memory.bytes > 2**20
    True
    """

    def __init__(self, pid: int) -> None:
        self.bytes: int | None = None
        self._status = Path(f"/proc/{pid}/status")

    def look(self) -> None:
        """Read the kernel's own maximum; growth after the last look is missed."""
        try:
            found = PEAK.search(self._status.read_text())
        except OSError:  # it has ended, or this is not Linux
            return
        if found:
            self.bytes = int(found[1]) * 1024


def say_bytes(count: int | None) -> str:
    """Bytes in GiB, with the precision of an observation from outside.

    >>> say_bytes(3 * 2**29), say_bytes(None)
    ('1.5 GiB', 'not known')
    """
    return "not known" if count is None else f"{count / 2**30:.1f} GiB"
