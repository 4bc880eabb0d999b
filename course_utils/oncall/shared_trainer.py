"""One training process, reused for a whole kernel or judge, and ended at exit.

A fork of this process may use it as well, when nobody else does; else it starts its own.
"""

import atexit
import contextlib
import mmap
import os
from collections.abc import Iterator

from course_utils.oncall.declare import Files
from course_utils.oncall.proving import Judge
from course_utils.oncall.training import Trained, Trainers

IDLE, BUSY = 0, 1


class KeptTrainers:
    """The interface of `Trainers`, with one warm process for many calls."""

    def __init__(self) -> None:
        self._made: list[tuple[int, Trainers]] = []  # by whom; none is closed by another
        self._state = mmap.mmap(-1, 1)  # shared with forks

    def train(self, files: Files, base: dict[str, bytes], **settings) -> Trained:
        """See `Trainers.train`."""
        with self._idle() as trainers:
            return trainers.train(files, base, **settings)

    @contextlib.contextmanager
    def _idle(self) -> Iterator[Trainers]:
        """The newest process, or a new one if a call to that was cut off midway."""
        if not self._made or self._state[0] == BUSY:
            self._made.append((os.getpid(), Trainers()))
            self._state = mmap.mmap(-1, 1)
        self._state[0] = BUSY
        yield self._made[-1][1]
        self._state[0] = IDLE  # and not in `finally`: its answers may be out of step

    def close(self) -> None:
        """End everything that this process has started."""
        for owner, trainers in self._made:
            if owner == os.getpid():
                trainers.close()
        self._made = [made for made in self._made if made[0] != os.getpid()]


TRAINERS = KeptTrainers()
JUDGE = Judge(TRAINERS)
atexit.register(TRAINERS.close)


def judge() -> Judge:
    """The judge that trains with the shared process, and trains no folder twice."""
    return JUDGE
