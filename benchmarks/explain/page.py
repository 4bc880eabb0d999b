"""The page of `make bench-explain`: what a log can tell, what is found, and what is missed."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.diagnostics.halves import OTHER, TUNED
from benchmarks.markdown import table
from course_utils.explain import explain
from course_utils.incidents.declare import Incident
from tests.helpers import pasted_logs

PASTED = Path(__file__).parents[2] / "tests" / "helpers" / "pasted"
COLUMNS = (
    "half",
    "read",
    "right cause first",
    "among the first three",
    "the same, where a log can tell",
    "alarms on healthy runs",
)
# The other half at three times, on the logs of today: the rules of the day, then 37 runs from the
# log alone and with the console, and the same of the 28 in which a log can tell.
HISTORY = (
    ("as it was (bd227c1)", "10 of 37", "15 of 37", "10 of 28", "15 of 28"),
    (
        "rules written without any of these logs (a5525be)",
        *("18 of 37", "23 of 37", "16 of 28", "21 of 28"),
    ),
)
TIMES = ("rules", "the log alone", "log and console", "alone, can tell", "console, can tell")


@dataclass(frozen=True)
class Judged:
    """One run, and the causes that were named for it, the likeliest first."""

    name: str
    variant: str  # broken, twin or healthy
    half: str
    incident: Incident | None
    alone: tuple[str, ...]  # from its log
    heard: tuple[str, ...]  # from its log and the console

    @property
    def is_told(self) -> bool:
        """Whether the incident says that a log can tell."""
        return bool(self.incident and self.incident.causes)

    def rank(self, keys: tuple[str, ...]) -> int | None:
        """The place of the first right cause, from 1."""
        one = self.incident
        right = [one.is_named_by(key) for key in keys] if one else []
        return right.index(True) + 1 if True in right else None


def page(rows: list[Judged]) -> str:
    broken = [row for row in rows if row.incident]
    parts = [*_intro(broken), "", *table(COLUMNS, _summary(rows)), "", *_before()]
    parts += ["", "## What a log cannot tell", "", *_silent(broken)]
    parts += ["", "## Every broken run", "", *_every(broken)]
    parts += ["", "## Alarms on healthy runs", "", *_alarms(rows)]
    parts += ["", "## Logs that people pasted", "", *_pasted()]
    return "\n".join(parts) + "\n"


def _intro(broken: list[Judged]) -> list[str]:
    told = sum(row.is_told for row in broken)
    more = sum(not row.is_told and _is_near(row.rank(row.alone)) for row in broken)
    return [
        "# What a log can tell",
        "",
        f"Made by `make bench-explain`: {len(broken)} [broken runs](incidents.md), their healthy "
        "twins, and healthy runs that look broken. `course explain` reads the log that each run "
        "leaves; first alone, then with what the libraries said on the console (their warnings, "
        f"the last error), as people paste it. Of {told} runs the incident says that a log can "
        f"tell; of the others {more} were told all the same, and in the rest nothing differs from "
        "the log of a healthy run, so silence is right.",
        "",
        "A cause is right if the incident lists it, or if it is of the incident's kind. The "
        "incidents are halved by a hash of their names, and the halves run with different seeds.",
    ]


def _before() -> list[str]:
    return [
        "**The other half is not unseen any more.** It was, until its logs were made and read for "
        "this page; then rules were added for what was missed, general ones, but after the look. "
        "So the second row is what rules do on logs that nobody had read (what the incidents are "
        "was known), and the rows above are what they can do. Among the first three, of the other "
        "half:",
        "",
        *table(TIMES, HISTORY),
        "",
        "The first benchmark of this half, when 53 runs existed, gave 10 of 26, and 10 of 19 where "
        "a log can tell. What the rules do on logs from threads that were looked for afterwards is "
        "in the last section.",
    ]


def _summary(rows: list[Judged]) -> Iterable[tuple[str, ...]]:
    for half in (OTHER, TUNED):
        some = [row for row in rows if row.half == half]
        for read, keys in (("the log alone", "alone"), ("log and console", "heard")):
            broken = [row for row in some if row.incident]
            told = [row for row in broken if row.is_told]
            ranks = [row.rank(getattr(row, keys)) for row in broken]
            of_told = [row.rank(getattr(row, keys)) for row in told]
            fine = [row for row in some if not row.incident]
            alarms = sum(bool(getattr(row, keys)) for row in fine)
            yield (
                half,
                read,
                _share(sum(rank == 1 for rank in ranks), len(broken)),
                _share(sum(_is_near(rank) for rank in ranks), len(broken)),
                _share(sum(_is_near(rank) for rank in of_told), len(told)),
                f"{alarms} of {len(fine)}",
            )


def _is_near(rank: int | None) -> bool:
    return rank is not None and rank <= 3


def _share(count: int, whole: int) -> str:
    return f"{count} of {whole} ({count / whole:.0%})" if whole else "-"


def _silent(broken: list[Judged]) -> list[str]:
    """The incidents whose logs say nothing, and what shows them instead."""
    lines = [
        f"* {row.name}: {row.incident.cause}"
        for row in broken
        if not row.is_told and not _is_near(row.rank(row.heard))
    ]
    return [
        "Their losses, gradients and rewards are those of a healthy run. Look at one batch token "
        "by token (`inspect_batch`), at the share of weights that a step moves (`audit_step`), at "
        "the model that is served (`compare_models`).",
        "",
        *lines,
    ]


def _every(broken: list[Judged]) -> list[str]:
    columns = ("incident", "kind", "half", "a log can tell", "says first", "right at", "heard")
    return table(
        columns,
        [
            (
                row.name,
                row.incident.kind,
                row.half,
                "yes" if row.is_told else "no",
                row.alone[0] if row.alone else "nothing",
                str(row.rank(row.alone) or "-"),
                str(row.rank(row.heard) or "-"),
            )
            for row in broken
        ],
    )


def _alarms(rows: list[Judged]) -> list[str]:
    loud = [row for row in rows if not row.incident and (row.alone or row.heard)]
    if not loud:
        return ["None."]
    columns = ("healthy run", "half", "said of the log alone", "with the console")
    return table(
        columns,
        [
            (
                f"twin of {row.name}" if row.variant == "twin" else row.name,
                row.half,
                ", ".join(row.alone) or "nothing",
                ", ".join(row.heard) or "nothing",
            )
            for row in loud
        ],
    )


def _pasted() -> list[str]:
    """How many pasted logs are explained now, and how many fresh ones were at the first try."""
    due = pasted_logs.DUE
    found = {name: _first(name) for name in due}
    right = sum(found[name] == key for name, key in due.items())
    fresh = pasted_logs.FRESH
    hits = sum(one.was_right for one in fresh.values())
    silent = sum(one.was_right and not one.first_try for one in fresh.values())
    rows = [
        (
            name,
            due[name] or "nothing: the log cannot tell",
            one.first_try or "nothing",
            "yes" if one.was_right else "no",
            found[name] or "nothing",
        )
        for name, one in fresh.items()
    ]
    columns = ("thread", "due", "first try", "right", "now")
    return [
        f"{len(due)} logs, shortened to their numbers, in tests/helpers/pasted: {right} of them "
        "get what is due first, or nothing where nothing is to be said. All but those below "
        "were known when rules were written.",
        "",
        f"**{len(fresh)} logs were looked for after the last rule had been written.** At the first "
        f"try {hits} of {len(fresh)} got what a maintainer would say among the first three, or "
        f"silence where the log cannot tell ({silent} of the {hits}).",
        "",
        *table(columns, rows),
    ]


def _first(name: str) -> str | None:
    findings = explain((PASTED / f"{name}.txt").read_text(encoding="utf-8")).findings
    return findings[0].key if findings else None
