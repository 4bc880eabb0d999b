"""Every failure of the course and what shows it, as a page with its holes: `make failures`.

    python -m benchmarks.incidents.failures [--write]

Trains nothing and imports no torch: it reads declarations, and the tables of docs/diagnosis.md and
docs/what_logs_tell.md, which longer benchmarks make.
"""

import argparse
import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path

from benchmarks.markdown import table
from course_utils import incidents
from course_utils.causes.kinds import CLASSES
from course_utils.oncall import cases
from tests.helpers.pasted_logs import DUE

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "failures.md"
# The lessons' unseen scripts that hold a failure of this page: functions in `reproductions`.
UNSEEN = {
    "adapter_never_served": ("never_loaded",),
    "bfloat16_stands_still": ("format_trainer",),
    "constant_that_trains": ("last_years_average",),
    "half_head_under_adamw": ("preference_trainer",),
    "logps_before_temperature": ("divided_late",),
    "mean_of_means": ("boxes_by_the_image", "two_denominators"),
    "no_end_in_the_rows": ("ends_on_one_side",),
    "optimizer_before_adapter": ("adapter_stands_still",),
    "replies_cut_short": ("no_room",),
    "scored_without_gradient": ("critic_learns_alone",),
    "served_by_hand": ("one_line_end_short",),
    "short_beats_right": ("silence_is_golden",),
    "stops_at_another_id": ("stops_at_the_base_end",),
    "system_prompt_in_trainer": ("stripped",),
}
HOLES = ("ticket", "log", "lesson", "unseen", "rule", "look", "run")  # the first are worth most


@dataclass(frozen=True)
class Failure:
    """One failure, and what shows it, by column; empty where nothing does."""

    title: str
    name: str
    kind: str
    run: str = ""
    twin: str = ""
    ticket: str = ""
    unseen: str = ""
    log: str = ""
    rule: str = ""
    look: str = ""
    lesson: str = ""


COLUMNS = tuple(field.name for field in fields(Failure))


def failures() -> list[Failure]:
    """Every incident, and every ticket that is none, by kind."""
    tickets, rules = _tickets(), _named("what_logs_tell.md", "says first")
    looks = _named("diagnosis.md", "diagnose says first")
    rows = []
    for name in incidents.names():
        said = incidents.declaration(name)
        rule = rules.get(name, "")
        own = {"run": "yes", "twin": "yes", "rule": rule, "look": looks.get(name, "")}
        logs = _logs(said["threads"], rule)
        rows.append(_row(name, said, tickets.pop(name, []), logs, **own))
    for name, linked in tickets.items():
        fault = cases.load(name).faults[0]
        rows.append(_row(name, vars(fault), linked, _logs(fault.threads)))
    kinds = list(CLASSES)
    return sorted(rows, key=lambda row: (kinds.index(row.kind), not row.run, row.name))


def _row(name: str, said: dict, tickets: list[str], logs: list[str], **own: str) -> Failure:
    return Failure(
        said["title"],
        name,
        said["kind"],
        ticket=", ".join(tickets),
        unseen=", ".join(UNSEEN.get(name, ())),
        log=", ".join(logs),
        lesson=said.get("lesson", "")[:2],
        **own,
    )


def _tickets() -> dict[str, list[str]]:
    """The tickets of each failure: an incident's name, or that of the ticket that declares it.

    One of level 3 counts where a fault of its own is declared in it.
    """
    found: dict[str, list[str]] = {}
    alone = {fault for name in cases.names() for fault in _single(name)}
    for name in cases.names():
        case = cases.load(name)
        for fault in case.faults:
            if case.level < 3 or fault not in alone:
                found.setdefault(fault.like or name, []).append(name)
    return found


def _single(name: str) -> tuple:
    case = cases.load(name)
    return case.faults if case.level < 3 else ()


def _logs(threads: tuple[str, ...], rule: str = "") -> list[str]:
    """Pasted logs from one of the threads, or whose due cause is the one that the rule names."""
    plain = {_plain(thread.replace("#", "-")) for thread in threads}
    of_threads = {name for name in DUE if _plain(name) in plain}
    return sorted(of_threads | {name for name, due in DUE.items() if rule and due == rule})


def _plain(name: str) -> str:
    """Threads are spelled LLaMA-Factory#1 and LlamaFactory-1b."""
    return re.sub(r"[^a-z0-9]|(?<=\d)[a-z]$", "", name.lower())


def _named(page: str, says: str) -> dict[str, str]:
    """The cause that is named first for each broken run, where it is a right one."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    start = next(at for at, row in enumerate(cells) if row[0] == "incident")
    first = cells[start].index(says)  # the next column is the place of the first right cause
    rows = cells[start + 2 :]
    whole = rows[: next((at for at, row in enumerate(rows) if len(row) < 2), len(rows))]
    return {row[0]: row[first] for row in whole if row[first + 1] == "1"}


def page() -> str:
    """docs/failures.md."""
    rows = failures()
    incidental = sum(bool(row.run) for row in rows)
    shown = COLUMNS[3:]
    parts = [
        "# Every failure, and what shows it",
        "",
        f"Made by `make failures`. {len(rows)} failures: {incidental} "
        f"[broken runs](incidents.md), and {len(rows) - incidental} that only [tickets](oncall.md) "
        "have. **It gives the tickets' answers away.** A ticket that is a run in other clothes "
        "stands in that run's row. *run* and *twin*: `course incident NAME [--twin]`. *unseen*: "
        "a script of a lesson's last exercise. *log*: pasted by people, from one of its threads "
        "or of the same cause. *rule*: what `course explain` names first for the run's log, where "
        "it is right. *look*: the same of `diagnose`; both were tried on the runs alone.",
        "",
        *table(("failures that", *shown), [("have it", *(_count(rows, name) for name in shown))]),
        "",
        "## Holes",
        "",
        *(_hole(rows, name) for name in HOLES),
        "",
        "## The failures",
        "",
        *table(COLUMNS, [[getattr(row, name) or "-" for name in COLUMNS] for row in rows]),
    ]
    return "\n".join(parts) + "\n"


def _count(rows: list[Failure], column: str) -> str:
    return f"{sum(bool(getattr(row, column)) for row in rows)} of {len(rows)}"


def _hole(rows: list[Failure], column: str) -> str:
    missing = [row.name for row in rows if not getattr(row, column)]
    return f"* No {column} ({len(missing)}): {', '.join(missing) or 'none'}."


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())


if __name__ == "__main__":
    sys.exit(main())
