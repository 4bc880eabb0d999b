"""The rule by which `make test` leaves out cases that `make prove` proves.

Tests go through cases: answers, attacks, broken runs, lessons, seeds. Cases are of one kind when
they ask the same thing of the same code: the wrong answers that one criterion must reject, the
incidents of one family, the seeds of one run. `make test` takes the first case of each kind, and
`make prove`, which sets PROVE=1, takes all. No case is chosen by its name. What another part of
`make test` runs already is left as well (`elsewhere`): a check that trains passes on the answer of
the solved lesson, which nbval executes. Four more things are left (`IS_WHOLE`): what fetches
packages from the index, the criteria after the one that rejects an answer, tables of all cases, and
a class whose graders are real, for which stand-ins are run.

Slow tests are left too (`slow_ones`): those that took more than `SLOW` seconds when `make seconds`
last measured them, all and then what would be run. A file that has no quick test keeps its quickest
one, but for those of the runs of a lesson, which nbval executes; what is marked `kept` is never
left: the first wrong answer of each criterion, and a rule for all instruments.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path

IS_WHOLE = bool(os.environ.get("PROVE"))
SLOW = 0.3  # seconds of one test; its fixtures count where it is about the runs of a lesson
RUNS_OF_LESSONS = "tests/reproductions/test_lesson_"
SECONDS = Path(__file__).with_name("seconds.json")  # of each slow test


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


def slow_ones(nodeids: Iterable[str], seconds: Mapping[str, float]) -> set[str]:
    """Of tests, those that are left to `make prove` for their time.

    Args:
        seconds: of the slow tests, by their ids.

    >>> sorted(slow_ones(["a::1", "a::2", "b::1", "b::2"], {"a::1": 9, "b::1": 5, "b::2": 4}))
    ['a::1', 'b::1']
    """
    by_file = defaultdict(list)
    for nodeid in nodeids:
        by_file[nodeid.partition("::")[0]].append(nodeid)
    left = set()
    for file, ids in by_file.items():
        slow = sorted((one for one in ids if one in seconds), key=lambda one: seconds[one])
        keeps_one = len(slow) == len(ids) and not file.startswith(RUNS_OF_LESSONS)
        left |= set(slow[keeps_one:])
    return left


def measured() -> dict[str, float]:
    """The slow tests when all were last measured, in seconds."""
    return json.loads(SECONDS.read_text(encoding="utf-8"))
