"""Counts what `diagnose.watching` names first in the unread runs, and quotes none of its reports.

    python -m benchmarks.diagnostics.unread_runs [--causes] [--write] [AUTHOR ...]

*Right*: the first cause has the run's key in key.json. *Another*: it has another one, which may be
a symptom or a part of it. *Accused*: a healthy run of which any cause is named. `--causes` adds how
often each cause came first, and in what. About eight seconds for each run.
"""

import argparse
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks.diagnostics.blind.doors import ROOT, changed, through  # noqa: E402
from benchmarks.diagnostics.tools import in_child  # noqa: E402
from benchmarks.diagnostics.unread.__main__ import HEALTHY, by_cause  # noqa: E402
from benchmarks.markdown import table  # noqa: E402

FOLDER = Path(__file__).parent
PAGE = ROOT / "docs" / "unread_runs.md"
AUTHORS = tuple(sorted(path.stem for path in FOLDER.glob("[a-z].py")))
DOOR = "watching"
COLUMNS = (
    *("author", "broken runs", "right", "another", "nothing"),
    *("twins", "accused", "odd healthy runs", "accused"),
)
HEAD = """# Unread runs

What `diagnose.watching` names first in {} broken runs that nobody here reads
(`benchmarks/diagnostics/unread_runs`), and whether it accuses their healthy twins or healthy runs
that look odd: only these counts are looked at, so that a change of a rule can be held against them
again and again. Made by `python -m benchmarks.diagnostics.unread_runs --write`, with `course_utils`
as of {}. {} {} of these cases have been looked at since, as key.json says: to find why a healthy
twin was ended or accused.

"""


@dataclass(frozen=True)
class Counted:
    """A run and what is named first in it.

    Attributes:
        kind: "broken", "twin" or "odd".
        key: of the cause that the run has, or "healthy".
        first: of the cause that comes first, "" for none.
    """

    author: str
    kind: str
    key: str
    first: str


def counted(authors: tuple[str, ...]) -> Iterator[Counted]:
    """Every run of these authors, each in a process of its own."""
    for author in authors:
        runs = importlib.import_module(f"{__package__}.{author}")
        for name, case in runs.CASES.items():
            cause = key()[author]["runs"][name]["key"]
            yield Counted(author, "broken", cause, _first(partial(case, healthy=False)))
            yield Counted(author, "twin", HEALTHY, _first(partial(case, healthy=True)))
        for odd in runs.ODD.values():
            yield Counted(author, "odd", HEALTHY, _first(odd))


def key() -> dict:
    """What each author says of the runs, by the author's letter."""
    return json.loads((FOLDER / "key.json").read_text(encoding="utf-8"))


def _first(make) -> str:
    module = SimpleNamespace(make=lambda _folder, healthy: make())
    said = in_child(lambda: module, lambda made: through(DOOR, made, "", healthy=False))
    return said.keys[0] if said.keys else ""


def rows(all_: list[Counted]) -> list[tuple[str, ...]]:
    """A row for each author, and one for all."""
    authors = sorted({one.author for one in all_})
    return [
        *(_row(author, [one for one in all_ if one.author == author]) for author in authors),
        _row("all", all_),
    ]


def _row(name: str, some: list[Counted]) -> tuple[str, ...]:
    broken, twins, odd = (
        [one for one in some if one.kind == kind] for kind in ("broken", "twin", "odd")
    )
    right = sum(one.first == one.key for one in broken)
    silent = sum(not one.first for one in broken)
    accused = [sum(bool(one.first) for one in healthy) for healthy in (twins, odd)]
    counts = (len(broken), right, len(broken) - right - silent, silent)
    return (name, *map(str, (*counts, len(twins), accused[0], len(odd), accused[1])))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.diagnostics.unread_runs")
    parser.add_argument("authors", nargs="*", choices=[*AUTHORS, []])
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    authors = tuple(asked.authors) or AUTHORS
    all_ = list(counted(authors))
    num_broken = sum(one.kind == "broken" for one in all_)
    about = " ".join(dict.fromkeys(key()[author]["about"] for author in authors))
    num_read = sum("read" in one for author in authors for one in key()[author]["runs"].values())
    page = HEAD.format(num_broken, changed("course_utils"), about, num_read)
    page += "\n".join(table(COLUMNS, rows(all_)))
    print(page)
    if asked.causes:
        print("\n".join(by_cause(all_)))
    if asked.write:
        PAGE.write_text(page + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
