"""The rule by which `make test` leaves out cases that `make prove` proves.

Tests go through cases: answers, attacks, broken runs, lessons, seeds. Cases are of one kind when
they ask the same thing of the same code: the wrong answers that one criterion must reject, the
incidents of one family, the seeds of one run. `make test` takes the first case of each kind, and
`make prove`, which sets PROVE=1, takes all. No case is chosen by its name. What another part of
`make test` runs already is left as well (`elsewhere`): a check that trains passes on the answer of
the solved lesson, which nbval executes. Three more things are left (`IS_WHOLE`): what fetches
packages from the index, the criteria after the one that rejects an answer, and tables of all cases.
"""

import os
from collections.abc import Callable, Hashable, Iterable

IS_WHOLE = bool(os.environ.get("PROVE"))


class Cases(list):
    """The cases that a test goes through; `num_left` more are left to `make prove`."""

    num_left = 0


def cases(
    every: Iterable,
    kind: Callable[[object], Hashable] = lambda case: None,
    *,
    elsewhere: Callable[[object], bool] = lambda case: False,
) -> Cases:
    """All cases under `make prove`, else the first of each kind; without `kind` all are of one.

    Args:
        elsewhere: whether another part of `make test` proves a case, so that it is left.
    """
    first: dict[Hashable, object] = {}
    every = list(every)
    for case in every:
        if not elsewhere(case):
            first.setdefault(kind(case), case)
    taken = Cases(every if IS_WHOLE else first.values())
    taken.num_left = len(every) - len(taken)
    return taken
