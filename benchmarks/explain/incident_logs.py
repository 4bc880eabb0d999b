"""What `course explain` says of the logs that the incidents leave: `make bench-explain`.

    python -m benchmarks.explain.incident_logs [--write] [NAME ...]

Each log is read twice: alone, and with what the run said on the console. The logs are made once
and kept (`benchmarks.explain.exported_logs`), so that a change of a rule is judged in a second.
"""

import argparse
import sys
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before runs are forked

from benchmarks.diagnostics.halves import half_of  # noqa: E402
from benchmarks.explain.exported_logs import Named, RunRemains, every_run, left_of  # noqa: E402
from benchmarks.explain.page import Judged, page  # noqa: E402
from course_utils import incidents  # noqa: E402
from course_utils.explain import explain  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "what_logs_tell.md"


def judged(run: Named) -> Judged:
    name, variant = run
    incident = incidents.load_incident(name) if variant == "broken" else None
    left = left_of(run)
    return Judged(
        name,
        variant,
        half_of(name),
        incident,
        alone=_keys(left, console=False),
        heard=_keys(left, console=True),
    )


def _keys(left: RunRemains, *, console: bool) -> tuple[str, ...]:
    answer = explain([f"{line}\n" for line in left.lines(console=console)])
    return tuple(one.key for one in answer.causes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = [judged(run) for run in every_run(tuple(asked.names))]
    for row in rows:
        kind = row.incident.kind if row.incident else ""
        ranks = (row.rank(row.alone), row.rank(row.heard)) if row.incident else ""
        print(row.name, row.variant, row.half, kind, ranks, row.alone[:4], row.heard[:4])
    if asked.write:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
