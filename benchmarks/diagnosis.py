"""Who names the cause of a broken run, and who alarms on a healthy one: `make bench-diagnosis`.

Every incident runs broken and as its healthy twin, every look-alike once, under each tool. Rules
are tuned on one half of the incidents, chosen by a hash of the name, and on one seed; the other
half runs with another seed, and the table shows both.

    python -m benchmarks.diagnosis [--half tuned|other] [--quick] [--write] [--keep FILE] [NAME ...]

`--quick` leaves out the tools that need a run of their own, which see the twins never. RIVALS names
the bin folder of an environment with rldoctor 0.2.0 and rlwatch 0.5.1.
"""

import argparse
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from course_utils.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks import diagnosis_tools as tools  # noqa: E402
from benchmarks.diagnosis_page import Row, at, page, summary  # noqa: E402
from benchmarks.diagnosis_tools import Outcome  # noqa: E402
from benchmarks.halves import OTHER, SEEDS, TUNED, half_of  # noqa: E402
from course_utils import incidents  # noqa: E402
from course_utils.incidents import healthy  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "diagnosis.md"


Kept = dict[tuple[str, bool], dict[str, Outcome]]


def rows_of(names: list[str], half: str, kept: Kept, *, quick: bool) -> Iterator[Row]:
    """Run everything asked for; what is in `kept` is taken from there."""
    for name in incidents.names():
        if (not names or name in names) and half in (half_of(name), "both"):
            incident = incidents.load_incident(name)
            for variant, of in (("broken", incident), ("twin", None)):
                row = Row(name, half_of(name), of, variant == "twin")
                yield _run(row, partial(incident.make, variant), kept, quick)
    for name in incidents.names(healthy):
        if (not names or name in names) and half in (half_of(name), "both"):
            row = Row(name, half_of(name), None)
            yield _run(row, incidents.load_look_alike(name).make, kept, quick)


def _run(row: Row, make: Callable, kept: Kept, quick: bool) -> Row:
    done = row.outcomes = kept.setdefault((row.name, row.incident is not None), {})
    started = partial(make, SEEDS[row.half])
    in_own_run = {"diagnose": tools.by_diagnose, "bare log": tools.by_nothing}
    if not quick and not row.is_twin:  # slow, and they stop at nan alone
        in_own_run |= {"detect_anomaly": tools.by_anomaly, "underflow": tools.by_underflow}
    for tool, use in in_own_run.items():
        if tool not in done:
            done[tool] = tools.in_child(started, use)
    readers = {
        "explain": tools.explained,
        "rldoctor": tools.by_rldoctor,
        "rlwatch": tools.by_rlwatch,
    }
    for tool, read in readers.items():
        if tool not in done and (outcome := read(done["bare log"])) is not None:
            done[tool] = outcome
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--half", default="both", choices=[TUNED, OTHER, "both"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, help="a file of outcomes, to go on from and add to")
    parser.add_argument("--text", action="store_true", help="print what diagnose says")
    asked = parser.parse_args()
    kept: Kept = {}
    if asked.keep and asked.keep.exists():
        kept = pickle.loads(asked.keep.read_bytes())
    rows = []
    for row in rows_of(asked.names, asked.half, kept, quick=asked.quick):
        rows.append(row)
        if asked.keep:
            asked.keep.write_bytes(pickle.dumps(kept))
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
    for half in (TUNED, OTHER):
        print(half, *summary(rows, half), sep="\n  ")
    if asked.write:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
