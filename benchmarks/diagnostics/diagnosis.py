"""Which tool names the cause of a broken run, and which alarms falsely: `make bench-diagnosis`.

Every incident runs broken and as its healthy twin, every look-alike once, under each tool. Rules
are tuned on one half of the incidents, chosen by a hash of the name, and on one seed; the other
half runs with another seed, and the table shows both.

    python -m benchmarks.diagnostics.diagnosis [--half tuned|other] [--quick] [--write]
        [--minutes N] [NAME ...]

Outcomes are kept in build/, each until the code that it is of changes, so that it can be run in
parts: `--minutes` ends a part, the next one goes on. `--quick` leaves out the tools that need a run
of their own, which see the twins never.

    python -m benchmarks.diagnostics.diagnosis --tool COMMAND ...

scores any other tool, on this corpus and on outside ones: `benchmarks.diagnostics.yardstick`.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks.diagnostics import tools  # noqa: E402
from benchmarks.diagnostics.halves import OTHER, SEEDS, TUNED, half_of  # noqa: E402
from benchmarks.diagnostics.page import Row, at, page, summary  # noqa: E402
from benchmarks.diagnostics.tools import Outcome  # noqa: E402
from benchmarks.diagnostics.yardstick.__main__ import main as yardstick  # noqa: E402
from benchmarks.kept_outcomes import Kept  # noqa: E402
from course_utils import incidents  # noqa: E402
from course_utils.incidents import healthy  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGE, KEPT = ROOT / "docs" / "diagnosis.md", ROOT / "build" / "diagnosis.pickle"


def rows_of(names: list[str], half: str, kept: Kept, *, quick: bool) -> Iterator[Row]:
    """Run everything asked for; kept outcomes are reused."""

    def is_asked(name: str) -> bool:
        return (not names or name in names) and half in (half_of(name), "both")

    for name in filter(is_asked, incidents.names()):
        incident = incidents.load_incident(name)
        for variant, of in (("broken", incident), ("twin", None)):
            row = Row(name, half_of(name), of, variant == "twin")
            yield _run(row, partial(incident.make, variant), kept, quick)
    for name in filter(is_asked, incidents.names(healthy)):
        row = Row(name, half_of(name), None)
        yield _run(row, incidents.load_look_alike(name).make, kept, quick)


def _run(row: Row, make: Callable, kept: Kept, quick: bool) -> Row:
    """A healthy run is started once: `diagnose` changes nothing, so its log is the bare one's."""
    module = f"{'broken' if row.incident or row.is_twin else 'healthy'}/{row.name}"
    run = f"twin of {row.name}" if row.is_twin else row.name

    def once(tool: str, use: Callable[[], Outcome | None]) -> Outcome | None:
        outcome = kept.get(run, tool, module)
        if outcome is None and (outcome := use()) is not None:
            kept.put(run, tool, module, outcome)
        if outcome is not None:
            row.outcomes[tool] = outcome
        return outcome

    in_own_run = {"diagnose": tools.by_diagnose}
    if row.incident is not None:
        in_own_run["bare log"] = tools.by_nothing
    if row.incident is not None and not quick:  # slow, and they stop at nan alone
        in_own_run |= {"detect_anomaly": tools.by_anomaly, "underflow": tools.by_underflow}
    started = partial(make, SEEDS[row.half])
    for tool, use in in_own_run.items():
        once(tool, partial(tools.in_child, started, use))
    bare = row.outcomes.setdefault("bare log", tools.only_its_log(row.outcomes["diagnose"]))
    row.outcomes["explain"] = tools.explained(bare)
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--half", default="both", choices=[TUNED, OTHER, "both"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the file of outcomes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so many")
    parser.add_argument("--text", action="store_true", help="print what diagnose says")
    asked = parser.parse_args()
    kept, began, rows = Kept(asked.keep), time.monotonic(), []
    for row in rows_of(asked.names, asked.half, kept, quick=asked.quick):
        rows.append(row)
        outcome = row.outcomes["diagnose"]
        kind = row.incident.kind if row.incident else "healthy"
        keys = {t: row.outcomes[t].keys[:4] for t in ("diagnose", "explain")}
        print(
            row.name,
            kind,
            at(row, "diagnose"),
            at(row, "explain"),
            keys,
            outcome.ended[:90],
            f"{outcome.cpu_s:.1f} {row.outcomes['bare log'].cpu_s:.1f}",
            flush=True,
        )
        if asked.text:
            print(outcome.text, flush=True)
        if time.monotonic() - began > 60 * asked.minutes:
            print("the time is over; the next part goes on here")
            break
    for half in (TUNED, OTHER):
        print(half, *summary(rows, half), sep="\n  ")
    if asked.write:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(yardstick(sys.argv[1:]) if "--tool" in sys.argv else main())
