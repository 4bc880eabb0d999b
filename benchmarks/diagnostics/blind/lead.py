"""What all blind rounds add up to, at the head of docs/diagnosis.md."""

import re
from collections import Counter

from benchmarks.diagnostics.blind.doors import ROOT
from benchmarks.diagnostics.blind.rounds import Round, scored, totals
from benchmarks.markdown import table

PAGE = ROOT / "docs" / "diagnosis.md"
TITLE = "## Runs that nobody here wrote"
SECTION = re.compile(rf"{TITLE}\n.*?(?=\n## )", re.DOTALL)
COLUMNS = (
    *("round", "frozen", "scored", "broken runs detected", "right cause first", "place", "fix"),
    *("alarms on twins", "alarms on odd healthy runs", "false statements"),
    *("logs right or honest", "broken logs called healthy"),
)
INTRO = """\
Runs and logs by authors who had seen neither rules nor incidents, the oldest round first. The \
best door of `diagnose` counts, and `course explain` reads the logs. Each round was scored once, \
and only then read for new rules: a row judges the rules of its day. Every case, and what each \
word means: [the rounds](blind_rounds.md)."""


def section() -> list[str]:
    """The lines of the section."""
    return [TITLE, "", INTRO, "", *table(COLUMNS, map(_row, scored()))]


def renew() -> None:
    """Write the section anew into docs/diagnosis.md, whose other numbers are kept."""
    page = PAGE.read_text(encoding="utf-8")
    made = "\n".join(section()) + "\n"
    PAGE.write_text(SECTION.sub(lambda _: made, page), encoding="utf-8")


def _row(of: Round) -> tuple[str, ...]:
    _door, first, *_others, detected, place, fix, false, on_twins, on_odd = totals(of)[-1]
    dates = ", ".join(sorted({one["date"] for one in of.outcomes.values()}))
    logs = list(of.key["logs"])
    marks = Counter(of.of_log(name).get("verdict") for name in logs)
    wrong_in_logs = sum(len(of.of_log(name).get("false", [])) for name in logs)
    sick = [name for name in logs if of.key["logs"][name]["verdict"] == "broken"]
    calm = sum(of.outcomes[f"log_{name}"]["healthy"] for name in sick)
    return (
        *(of.name, of.frozen, dates, detected, first, place, fix, on_twins, on_odd),
        str(int(false) + wrong_in_logs),
        f"{marks['right'] + marks['honest']} of {len(logs)}",
        f"{calm} of {len(sick)}",
    )
