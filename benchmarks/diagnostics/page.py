"""The table of `make bench-diagnosis`: which tool named the cause, which alarmed, its cost."""

from dataclasses import dataclass, field
from statistics import fmean, median

from benchmarks.diagnostics import pasted_logs
from benchmarks.diagnostics.blind import lead
from benchmarks.diagnostics.halves import OTHER, TUNED
from benchmarks.diagnostics.tools import Outcome
from benchmarks.markdown import table
from course_utils import incidents
from course_utils.diagnostics.diagnosis.report.layout import FIRST
from course_utils.incidents.declare import Incident

TOOLS = ("diagnose", "explain", "detect_anomaly", "underflow", "bare log")
# Of the half not tuned on: what `diagnose` did not name when it first met it.
MISSED_AT_FIRST = (
    *("adapter_under_another_name", "merged_onto_a_grid", "entropy_paid_for", "length_in_the_mean"),
    *("resumed_on_the_same_rows", "resumed_without_optimizer", "short_beats_right"),
    *("sign_of_the_length", "sums_too_easy"),
)
HEAD = (
    "tool",
    "right cause first",
    "among the first three",
    "place named",
    "alarms on healthy runs",
    "CPU time of the run",
)


@dataclass
class Row:
    """One run, and each tool's outcome on it."""

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
        right = [self.incident.is_named_by(key) for key in outcome.keys]
        return right.index(True) + 1 if True in right else None

    def names_place(self, tool: str) -> bool:
        text = " ".join(self.outcomes[tool].text.lower().split())
        words = self.incident.place.lower().split(",")
        return bool(self.outcomes[tool].keys) and any(
            w.strip() and w.strip() in text for w in words
        )

    def alarms(self, tool: str) -> bool:
        return bool(self.outcomes[tool].keys)


def summary(rows: list[Row], half: str) -> list[tuple[str, ...]]:
    """One line per tool: top-1, top-3 and place on the broken runs, alarms on the healthy ones."""
    some = [row for row in rows if half in (row.half, "both")]
    broken, fine = [r for r in some if r.incident], [r for r in some if not r.incident]
    lines = []
    for tool in TOOLS:
        if not any(tool in row.outcomes for row in some):
            lines.append((tool, "not run", "", "", "", ""))
            continue
        ran = [row for row in broken if tool in row.outcomes]
        ranks = [row.rank(tool) for row in ran]
        placed = [row.names_place(tool) for row in ran if row.incident.place]
        tested = [row for row in fine if tool in row.outcomes]
        alarms = sum(row.alarms(tool) for row in tested)
        first = sum(rank == 1 for rank in ranks)
        three = sum(rank is not None and rank <= 3 for rank in ranks)
        lines.append(
            (
                tool,
                _share(first, len(ran)),
                _share(three, len(ran)),
                _share(sum(placed), len(placed)),
                f"{alarms} of {len(tested)}",
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
    """CPU time of the run under the tool over that of the bare run, the median."""
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
    parts = [*_intro(rows)]
    for half, title in ((OTHER, "The half not tuned on"), (TUNED, "The half tuned on")):
        parts += [
            "",
            f"## {title}",
            "",
            *table(HEAD, summary(rows, half)),
            "",
            *_losses(rows, half),
        ]
    parts += ["", "## Every broken run", "", *_every_run([row for row in rows if row.incident])]
    alarms = [r for r in rows if not r.incident and any(r.alarms(t) for t in r.outcomes)]
    columns = ("healthy run", "half", "who alarms, and with what")
    parts += ["", "## Alarms on healthy runs", "", *table(columns, map(_alarm, alarms))]
    parts += ["", "## Ten logs that people pasted", "", "What `course explain` answers, in full."]
    return "\n".join([*parts, *pasted_logs.sections()]) + "\n"


def _intro(rows: list[Row]) -> list[str]:
    broken = sum(row.incident is not None for row in rows)
    alikes = sum(not row.incident and not row.is_twin for row in rows)
    looks = [r.outcomes["diagnose"].extra_s for r in rows if r.outcomes["diagnose"].extra_s]
    whole = len(incidents.names())
    partly = f"**Not complete: {broken} of {whole} broken runs have been run.** "
    return [
        "# Who names the cause",
        "",
        *lead.section(),
        "",
        "## Our own runs",
        "",
        *([partly, ""] if broken < whole else []),
        f"Made by `make bench-diagnosis`: {broken} [broken runs](incidents.md), each with its "
        f"healthy twin, and {alikes} healthy runs that look broken. `diagnose` rides along with "
        "the run; `explain` reads the log that the run exports; detect_anomaly and "
        "DebugUnderflowOverflow (underflow) run within it, on some rows only. What other tools "
        "name: [the yardstick](yardstick.md).",
        "",
        "A cause is right if the incident lists it, or if it is of the incident's kind. The "
        "incidents are halved by a hash of their names, and the halves run with different seeds. "
        "Rules were tuned on one half. Of the other half each run that was missed at first sight "
        "was given a look afterwards, a general one where one was found: "
        f"{', '.join(MISSED_AT_FIRST)}. At first sight `diagnose` named {_at_first(rows)} of that "
        "half; the table says what it names today. The log of a healthy run is that of the run "
        "which `diagnose` watches, since it changes nothing. "
        f"The looks before and after a run take {fmean(looks):.1f} s of CPU time in the mean. "
        f"{_of_reports(rows)}",
    ]


def _of_reports(rows: list[Row]) -> str:
    """How long the reports are, and where their fix stands."""
    texts = [r.outcomes["diagnose"].text.split("\n") for r in rows if r.outcomes["diagnose"].text]
    lengths = [len(lines) for lines in texts]
    named = [lines for lines in texts if any(line.startswith("Fix: ") for line in lines)]
    early = sum(any(line.startswith("Fix: ") for line in lines[:FIRST]) for lines in named)
    return (
        f"A report has {median(lengths):g} lines in the median, and {max(lengths)} at most; in "
        f"{early} of the {len(named)} that name a cause, cause, place, evidence and fix stand in "
        f"the first {FIRST} lines ([five of them, before and after](reports.md))."
    )


def _at_first(rows: list[Row]) -> str:
    """Runs named first, without those for which a look was added after a first run."""
    ran = [row for row in rows if row.incident and row.half == OTHER]
    named = [r for r in ran if r.rank("diagnose") == 1 and r.name not in MISSED_AT_FIRST]
    return _share(len(named), len(ran))


def _losses(rows: list[Row], half: str) -> list[str]:
    """The runs that `diagnose` and `explain` miss, and those they alarm on falsely, by name."""
    some = [row for row in rows if row.half == half]
    lines = []
    for tool in ("diagnose", "explain"):
        missed = [row.name for row in some if row.incident and row.rank(tool) != 1]
        alarms = [_alarm(row)[0] for row in some if not row.incident and row.alarms(tool)]
        lines.append(f"* `{tool}` does not put first: {', '.join(missed) or 'none'}.")
        lines.append(f"* `{tool}` alarms on: {', '.join(alarms) or 'none'}.")
    return lines


def _every_run(broken: list[Row]) -> list[str]:
    columns = ("incident", "kind", "half", "diagnose says first", "right at", "explain", "right at")
    lines = [
        (
            row.name,
            row.incident.kind,
            row.half,
            _first(row, "diagnose"),
            at(row, "diagnose"),
            _first(row, "explain"),
            at(row, "explain"),
        )
        for row in broken
    ]
    return table(columns, lines)


def _first(row: Row, tool: str) -> str:
    keys = row.outcomes[tool].keys
    return keys[0] if keys else "nothing"


def at(row: Row, tool: str) -> str:
    """The place of the first right cause, or a dash."""
    rank = row.rank(tool)
    return str(rank) if rank else "-"


def _alarm(row: Row) -> tuple[str, str, str]:
    said = [f"{t}: {', '.join(o.keys[:2])}" for t, o in row.outcomes.items() if o.keys]
    name = f"twin of {row.name}" if row.is_twin else row.name
    return name, row.half, "; ".join(said)
