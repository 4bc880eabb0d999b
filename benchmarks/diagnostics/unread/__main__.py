"""Counts what `course explain` names first in the unread logs, and quotes none of them.

    python -m benchmarks.diagnostics.unread [--causes] [--write]

*Right*: the first cause has the key of the log. *Another*: it has another key, which may be a
symptom of it or a part. `--causes` adds how often each cause came first, and in what.
"""

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.markdown import table
from course_utils.causes import CAUSES
from course_utils.explain import explain

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[2] / "docs" / "unread_logs.md"
HEALTHY = "healthy"
COMMON, READ = ("f", "g"), "f"  # the authors of the common causes; whose logs were read since
COLUMNS = ("logs", "broken", "right", "another", "nothing", "called healthy", "healthy", "accused")
HEAD = """# Unread logs

What `course explain` names first in {} logs
(`benchmarks/diagnostics/unread`). Of all but the first row only these counts are looked at, so
that a change of a rule can be held against them again and again; the logs of the first row were
read on 2026-11-30 and rules mended for them, to see what the second gains by it. Made by
`python -m benchmarks.diagnostics.unread --write`. {}

"""


@dataclass(frozen=True)
class Counted:
    """A log's key, what is named first in it ("" for nothing), and whether it is called healthy."""

    name: str
    key: str
    first: str
    is_called_healthy: bool


def counted() -> list[Counted]:
    """All unread logs."""
    return [_counted(name, told["key"]) for name, told in key()["logs"].items()]


def key() -> dict:
    return json.loads((FOLDER / "key.json").read_text(encoding="utf-8"))


def _counted(name: str, key_: str) -> Counted:
    answer = explain((FOLDER / "logs" / f"{name}.txt").read_text(encoding="utf-8"))
    first = answer.causes[0].key if answer.causes else ""
    return Counted(name, key_, first, answer.is_healthy)


def rows(all_: list[Counted]) -> list[tuple[str, ...]]:
    """A row for each of the two logs of the common causes, one for the others."""
    read = [one for one in all_ if one.name[0] == READ]
    common = [one for one in all_ if one.name[0] in COMMON and one.name[0] != READ]
    others = [one for one in all_ if one.name[0] not in COMMON]
    return [
        _row("common causes, by an author whose logs were read since", read),
        _row("the same causes, by an author whose logs were not", common),
        _row("other causes, one each", others),
    ]


def is_sound(of: str) -> bool:
    """Whether nothing is wrong in a log with this key."""
    return of == HEALTHY or CAUSES[of].healthy


def _row(name: str, some: list[Counted]) -> tuple[str, ...]:
    broken = [one for one in some if not is_sound(one.key)]
    healthy = [one for one in some if is_sound(one.key)]
    right = sum(one.first == one.key for one in broken)
    silent = sum(not one.first for one in broken)
    called = sum(one.is_called_healthy for one in broken)
    another = len(broken) - right - silent
    accused = sum(bool(one.first) for one in healthy)
    counts = (len(broken), right, another, silent, called, len(healthy), accused)
    return (name, *map(str, counts))


def by_cause(all_: list[Counted]) -> list[str]:
    """How often each cause came first: rightly, in place of another, in what is healthy.

    The worst come first.
    """
    named = [one for one in all_ if one.first]
    right = Counter(one.first for one in named if one.first == one.key)
    accused = Counter(one.first for one in named if is_sound(one.key))
    wrong = Counter(one.first for one in named if one.first != one.key) - accused
    order = sorted({*right, *wrong, *accused}, key=lambda x: (right[x] - wrong[x] - accused[x], x))
    return [f"{x}: {right[x]} right, {wrong[x]} another, {accused[x]} accused" for x in order]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    all_ = counted()
    page = HEAD.format(len(all_), key()["about"]) + "\n".join(table(COLUMNS, rows(all_)))
    print(page)
    if asked.causes:
        print("\n".join(by_cause(all_)))
    if asked.write:
        PAGE.write_text(page + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
