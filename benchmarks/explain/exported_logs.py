"""The logs that the incidents leave when they run alone, kept in build/logs to try readers on.

    python -m benchmarks.explain.exported_logs [NAME ...]

A run leaves its log, and what it said on the console: warnings of the libraries, its last error.
It is made once for an incident, its variant and the seed of its half; delete the file, or the
folder, to have it made anew.
"""

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.diagnostics import tools
from benchmarks.diagnostics.halves import SEEDS, half_of
from course_utils import incidents
from course_utils.incidents import healthy
from course_utils.incidents.declare import Run
from course_utils.shown.quiet import CONTINUED, quiet_libraries

FOLDER = Path(__file__).parents[2] / "build" / "logs"
Named = tuple[str, str]  # the name, and broken, twin or healthy


def every_run(names: tuple[str, ...] = ()) -> Iterator[Named]:
    """Each incident, broken and as its twin, and each healthy run that looks broken."""
    for name in incidents.names():
        if not names or name in names:
            yield from ((name, "broken"), (name, "twin"))
    yield from ((n, "healthy") for n in incidents.names(healthy) if not names or n in names)


@dataclass(frozen=True)
class RunRemains:
    """The remains of a run: its log, the console's lines, the error that ended it."""

    log: list[dict]
    console: list[str]
    ended: str

    def lines(self, *, console: bool = True) -> Iterator[str]:
        """The paste of a reader: the console's lines, the log as JSON lines, the last error."""
        yield from self.console if console else ()
        yield from (json.dumps(row) for row in self.log)
        yield from [self.ended] if self.ended else []


def left_of(run: Named) -> RunRemains:
    """The remains of a bare run: from its file if there is one, else the run is started."""
    return remains_of(".".join(run), partial(_make, *run))


def remains_of(name: str, make: Callable[[], Run]) -> RunRemains:
    """The remains of any bare run, kept under a name that tells it from all others."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        outcome = tools.in_child(lambda: make, _bare)
        FOLDER.mkdir(parents=True, exist_ok=True)
        kept = RunRemains(outcome.log, outcome.text.splitlines(), outcome.ended)
        path.write_text(json.dumps(vars(kept), default=float))
    return RunRemains(**json.loads(path.read_text()))


def _bare(make) -> tools.Outcome:
    """Make and start the bare run; returns its remains."""
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        outcome = tools.by_nothing(make())
    outcome.text = heard.getvalue().replace(f"\n{CONTINUED}", " ")
    return outcome


def _make(name: str, variant: str):
    seed = SEEDS[half_of(name)]
    if variant == "healthy":
        return incidents.load_look_alike(name).make(seed)
    return incidents.load_incident(name).make(variant, seed)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    for run in every_run(tuple(parser.parse_args().names)):
        left = left_of(run)
        said = f"{len(left.log)} entries, {len(left.console)} lines"
        print(*run, said, left.ended[:80], flush=True)


if __name__ == "__main__":
    quiet_libraries()
    import trl  # noqa: F401  imported once, before the runs are forked

    main()
