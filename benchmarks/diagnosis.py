"""Who names the cause of a broken run, and who alarms on a healthy one: `make bench-diagnosis`.

Every incident runs broken and as its healthy twin, every look-alike once, under each tool. Rules
are tuned on one half of the incidents, chosen by a hash of the name; the table shows both halves.

    python -m benchmarks.diagnosis [--half tuned|other] [--quick] [--write] [--keep FILE] [NAME ...]

`--quick` leaves out the tools that need a run of their own. RIVALS names the bin folder of an
environment with rldoctor 0.2.0 and rlwatch 0.5.1.
"""

import argparse
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean, median

from course_utils.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks import diagnosis_tools as tools  # noqa: E402
from benchmarks.cause_kinds import names_it  # noqa: E402
from benchmarks.diagnosis_tools import Outcome  # noqa: E402
from course_utils import incidents  # noqa: E402
from course_utils.incidents import healthy  # noqa: E402
from course_utils.incidents.declare import Incident  # noqa: E402

SEED = 0
PAGE = Path(__file__).parents[1] / "docs" / "diagnosis.md"
TOOLS = ("diagnose", "explain", "rldoctor", "rlwatch", "detect_anomaly", "underflow", "bare log")
TUNED, OTHER = "tuned", "other"


def half_of(name: str) -> str:
    """Which half of the incidents a name belongs to, the same on every machine.

    >>> half_of("pad_is_eos") in ("tuned", "other")
    True
    """
    return TUNED if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else OTHER


@dataclass
class Row:
    """One run: what it is, and what each tool made of it."""

    name: str
    half: str
    incident: Incident | None  # None: a healthy run
    is_twin: bool = False
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def rank(self, tool: str) -> int | None:
        """The place of the first right cause, from 1; None if there is none, or no tool."""
        outcome = self.outcomes.get(tool)
        if outcome is None or self.incident is None:
            return None
        right = [names_it(key, self.incident.kind, self.incident.causes) for key in outcome.keys]
        return right.index(True) + 1 if True in right else None

    def names_place(self, tool: str) -> bool:
        text = " ".join(self.outcomes[tool].text.lower().split())
        words = self.incident.place.lower().split(",")
        return bool(self.outcomes[tool].keys) and any(
            w.strip() and w.strip() in text for w in words
        )

    def alarms(self, tool: str) -> bool:
        return bool(self.outcomes[tool].keys)


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
    started = partial(make, SEED)
    in_own_run = {"diagnose": tools.by_diagnose, "bare log": tools.by_nothing}
    if not quick:
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


def summary(rows: list[Row], half: str) -> list[tuple[str, ...]]:
    """One line a tool: top-1, top-3 and place of the broken runs, alarms of the healthy ones."""
    some = [row for row in rows if half in (row.half, "both")]
    broken, fine = [r for r in some if r.incident], [r for r in some if not r.incident]
    lines = []
    for tool in TOOLS:
        if not any(tool in row.outcomes for row in some):
            why = "absent" if tool.startswith("rl") else "not run"
            lines.append((tool, why, "", "", "", ""))
            continue
        ranks = [row.rank(tool) for row in broken]
        placed = [row.names_place(tool) for row in broken if row.incident.place]
        alarms = sum(row.alarms(tool) for row in fine)
        first = sum(rank == 1 for rank in ranks)
        three = sum(rank is not None and rank <= 3 for rank in ranks)
        lines.append(
            (
                tool,
                _share(first, len(broken)),
                _share(three, len(broken)),
                _share(sum(placed), len(placed)),
                f"{alarms} of {len(fine)}",
                _cost(some, tool),
            )
        )
    told = [row for row in broken if row.incident.causes]
    ranks = [row.rank("explain") for row in told]
    lines.append(
        (
            "explain, where a log can tell",
            _share(sum(rank == 1 for rank in ranks), len(told)),
            _share(sum(rank is not None and rank <= 3 for rank in ranks), len(told)),
            "",
            "",
            "",
        )
    )
    return lines


def _share(count: int, whole: int) -> str:
    return f"{count} of {whole} ({count / whole:.0%})" if whole else "-"


def _cost(rows: list[Row], tool: str) -> str:
    """CPU time of the run under the tool by that of the bare run, in the median."""
    ratios = [
        row.outcomes[tool].cpu_s / row.outcomes["bare log"].cpu_s
        for row in rows
        if tool in row.outcomes
        and row.outcomes["bare log"].cpu_s > 0.2
        and row.outcomes[tool].cpu_s > 0
    ]
    return f"{median(ratios):.2f} x" if ratios and tool != "bare log" else "1 x"


def page(rows: list[Row]) -> str:
    """docs/diagnosis.md, losses included."""
    broken = [row for row in rows if row.incident]
    looks = [r.outcomes["diagnose"].extra_s for r in rows if r.outcomes["diagnose"].extra_s]
    head = (
        "tool",
        "right cause first",
        "among the first three",
        "place named",
        "alarms on healthy runs",
        "CPU time of the run",
    )
    parts = [
        "# Who names the cause",
        "",
        f"Made by `make bench-diagnosis`: {len(broken)} broken runs, each with its healthy twin, "
        f"and {sum(not r.incident and not r.is_twin for r in rows)} healthy runs that look broken. A cause is right if the "
        "incident lists it, or if it is of the incident's kind. The rules of `diagnose` were tuned "
        "on one half of the incidents, chosen by a hash of the name; the other half was run once. "
        f"The looks before and after a run take {fmean(looks):.1f} s of CPU time in the mean.",
    ]
    for half, title in ((OTHER, "The half not tuned on"), (TUNED, "The half tuned on")):
        parts += ["", f"## {title}", "", *_table(head, summary(rows, half))]
    columns = ("incident", "kind", "half", "diagnose says first", "right at", "explain", "right at")
    lines = [
        (
            row.name,
            row.incident.kind,
            row.half,
            _first(row, "diagnose"),
            _at(row, "diagnose"),
            _first(row, "explain"),
            _at(row, "explain"),
        )
        for row in broken
    ]
    parts += ["", "## Every broken run", "", *_table(columns, lines)]
    alarms = [r for r in rows if not r.incident and any(r.alarms(t) for t in r.outcomes)]
    columns = ("healthy run", "half", "who alarms, and with what")
    parts += ["", "## Alarms on healthy runs", "", *_table(columns, [_alarm(r) for r in alarms])]
    return "\n".join(parts) + "\n"


def _first(row: Row, tool: str) -> str:
    keys = row.outcomes[tool].keys
    return keys[0] if keys else "nothing"


def _at(row: Row, tool: str) -> str:
    rank = row.rank(tool)
    return str(rank) if rank else "-"


def _alarm(row: Row) -> tuple[str, str, str]:
    said = [f"{t}: {', '.join(o.keys[:2])}" for t, o in row.outcomes.items() if o.keys]
    name = f"twin of {row.name}" if row.is_twin else row.name
    return name, row.half, "; ".join(said)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]


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
            _at(row, "diagnose"),
            _at(row, "explain"),
            keys,
            outcome.ended[:90],
            f"{outcome.cpu_s:.1f} {row.outcomes['bare log'].cpu_s:.1f}",
            flush=True,
        )
        if asked.text:
            print(outcome.text, flush=True)
        if asked.write and len(rows) % 20 == 0:
            PAGE.write_text(page(rows), encoding="utf-8")
    for half in (TUNED, OTHER):
        print(half, *summary(rows, half), sep="\n  ")
    if asked.write:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
