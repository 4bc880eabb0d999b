"""Five reports of `diagnose`, before and after they were made short: docs/reports.md.

    python -m benchmarks.diagnostics.reports [--write]

What stands in `reports_before/` is what `diagnose` printed at BEFORE, on the same runs and seeds.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks.diagnostics import tools  # noqa: E402
from benchmarks.diagnostics.halves import SEEDS, half_of  # noqa: E402
from course_utils import incidents  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGE, OLD = ROOT / "docs" / "reports.md", Path(__file__).parent / "reports_before"
BEFORE = "208f3f8"  # of 2026-11-23
# One run of each trainer, and a loop of its own.
NAMES = (
    *("pad_is_eos", "prompt_is_no_prefix", "reward_read_in_the_prompt", "verifier_wants_a_tag"),
    "one_empty_reply",
)
INTRO = f"""\
# Five reports, before and after

Made by `python -m benchmarks.diagnostics.reports --write`: what `diagnose.watching` prints of \
five [broken runs](incidents.md), one of each trainer and one loop of its own. *Before*: the whole \
report at {BEFORE}. *After*: the report of today, whose other lines are in `report.details`. How \
long the reports on all runs are: [diagnosis](diagnosis.md)."""


def sections() -> Iterator[str]:
    for name in NAMES:
        incident = incidents.load_incident(name)
        make = partial(incident.make, "broken", SEEDS[half_of(name)])
        after = tools.in_child(make, tools.by_diagnose).text
        yield f"## {name}\n\n{incident.says} The cause: {incident.cause}"
        yield _quoted("Before", (OLD / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n"))
        yield _quoted("After", after)


def _quoted(title: str, report: str) -> str:
    return f"**{title}**, {len(report.splitlines())} lines:\n\n```text\n{report}\n```"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    page = "\n\n".join([INTRO, *sections()]) + "\n"
    if parser.parse_args().write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
