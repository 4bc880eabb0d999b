"""Scores a blind round: which doors name the cause, which alarm, what is false in their reports.

    python -m benchmarks.diagnostics.blind ROUND [--write] [NAME ...]

1. Without --write: runs what is not kept yet (NAME alone: only that), and leaves every report in
   build/blind/ROUND/.
2. A reader judges each report against key.json, in ROUND/verdicts.json (its "how" tells the form).
3. With --write: keeps the outcomes in ROUND/outcomes.json, and writes docs/blind_rounds.md from all
   rounds, and their sums at the head of docs/diagnosis.md. A round is scored once: while
   outcomes.json is there, nothing is run again.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks.diagnostics.blind import doors, lead  # noqa: E402
from benchmarks.diagnostics.blind.doors import NUM_STEPS, ROOT, cases  # noqa: E402
from benchmarks.diagnostics.blind.rounds import (  # noqa: E402
    HERE,
    MARKS,
    OF_LOGS,
    Round,
    read_json,
    scored,
    totals,
)
from benchmarks.markdown import table  # noqa: E402

PAGE = ROOT / "docs" / "blind_rounds.md"
INTRO = f"""\
# Blind rounds

Runs and logs by authors who have seen neither rules nor incidents, oldest round first. Each round \
is scored once, before anyone reads it for new rules. Made by \
`python -m benchmarks.diagnostics.blind ROUND --write`.

* **look**: `diagnose(trainer)` before training, or `diagnose(model, ...)` after one's own loop. \
**steps**: `diagnose(trainer, steps={NUM_STEPS})`. **callback**: what README's `DiagnoseCallback` \
prints. **watching**: `diagnose.watching` around the run. **best**: the best door for each question.
* A machine counts causes, alarms and errors. A reader with the key judges the rest. *Right*: the \
first cause is the key's. *Near*: a part of it, or it comes later. *Nothing*: no cause is named.
* *Detected*: the report says that the run is broken, and saw this fault. *Place*, *fix*: they \
lead to the line to change. *False*: the run contradicts the statement; counted once per case.
* Of logs, *honest* is "cannot tell" where the log cannot, and *missed* the same where it can.
"""


def page_of(of: Round) -> Iterator[str]:
    """The section of a round."""
    when = [sorted({one[word] for one in of.outcomes.values()}) for word in ("date", "commit")]
    dates, commits = map(", ".join, when)
    num_odd = len(of.key["runs"]) - len(of.broken)
    yield (
        f"## {of.name}\n\n{len(of.broken)} broken runs with twins, {num_odd} healthy runs that "
        f"look odd, {len(of.key['logs'])} logs. Frozen in {of.frozen}. Scored on {dates}; "
        f"`course_utils` as of {commits}.\n"
    )
    if not of.verdicts:
        yield "**No reader has judged the reports yet: only alarms are counted.**\n"
    columns = ("door", "cause first", *MARKS[1:], "detected", "place", "fix", "false statements")
    yield from table((*columns, "alarms on twins", "alarms on healthy runs"), totals(of))
    yield "\n### Broken runs\n"
    columns = ("run", "doors", "causes named", "cause", "detected", "place", "fix", "ended")
    yield from table(columns, _rows(of))
    yield "\n### Alarms and false statements\n"
    yield from _complaints(of)
    yield "\n### Logs\n"
    yield from _logs(of)


def _rows(of: Round) -> Iterator[tuple[str, ...]]:
    """A row for each answer to a run, with the doors that gave it."""
    for name in of.broken:
        doors_of: dict[tuple[str, ...], list[str]] = {}
        for door in of.doors(name, "broken"):
            given = of.verdict(name, "broken", door)
            yes = ["yes" if given.get(ask) else "no" for ask in ("detected", "place", "fix")]
            ended = of.outcomes[f"{name}.broken.{door}"]["ended"].partition(":")[0]
            said = ", ".join(of.keys(name, "broken", door)) or "nothing"
            answer = (said, given.get("cause", "not read"), *yes, ended)
            doors_of.setdefault(answer, []).append(door)
        for answer, same in doors_of.items():
            yield name, "all" if len(doors_of) == 1 else ", ".join(same), *answer


def _complaints(of: Round) -> Iterator[str]:
    for name, variant in of.fine:
        said = {d: of.keys(name, variant, d) for d in of.doors(name, variant)}
        if loud := [f"{door}: {', '.join(keys)}" for door, keys in said.items() if keys]:
            yield f"* Alarm on {name} ({variant}): {'; '.join(loud)}."
    quotes: dict[str, list[str]] = {}
    for name, variant in cases(of.key):
        for quote in of.verdict(name, variant, "best").get("false", []):
            quotes.setdefault(quote, []).append(f"{name} ({variant})")
    for name in of.key["logs"]:
        for quote in of.of_log(name).get("false", []):
            quotes.setdefault(quote, []).append(f"log {name}")
    yield f"\n{len(quotes)} different false statements, each with what is true:\n"
    for quote, where in quotes.items():
        shown = quote.replace("<", "\\<")  # a token such as <s> is a tag to a browser
        yield f"* {shown} In {', '.join(where)}."


def _logs(of: Round) -> Iterator[str]:
    known = of.seen_before
    blind = [name for name in of.key["logs"] if name not in known]
    lines = []
    for title, names in (("blind", blind), ("in our own corpus", known)):
        marks = Counter(of.of_log(n).get("verdict") for n in names)
        sick = [n for n in names if of.key["logs"][n]["verdict"] == "broken"]
        calm = sum(of.outcomes[f"log_{n}"]["healthy"] for n in sick)
        counts = [str(marks[mark]) for mark in OF_LOGS]
        lines.append((title, str(len(names)), *counts, f"{calm} of {len(sick)}"))
    yield from table(("logs", "how many", *OF_LOGS, "healthy said of broken"), lines)
    yield ""
    each = []
    for name, log in of.key["logs"].items():
        thread, is_blind = log["source"].partition("github.com/")[2], name not in known
        said = ", ".join(of.outcomes[f"log_{name}"]["keys"]) or "nothing"
        verdict = of.of_log(name).get("verdict", "not read")
        each.append((name, thread, "yes" if is_blind else "no", said, verdict))
    yield from table(("log", "thread", "blind", "causes named", "verdict"), each)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("round")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.names:
        doors.outcomes(asked.round, asked.names)
        return
    folder = HERE / asked.round
    path = folder / "outcomes.json"
    kept = read_json(path) if path.exists() else _scored(folder)
    print("\n".join(page_of(Round.of(folder, kept))))
    if asked.write:
        path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(), encoding="utf-8")
        lead.renew()


def _scored(folder: Path) -> dict:
    """What is kept of a round in the repository: all but the reports."""
    found = doors.outcomes(folder.name, [])
    for one in found.values():
        one["healthy"] = bool(one.pop("report").get("healthy"))
    frozen = doors.changed(
        *(str(folder / part) for part in ("runs", "listed.py", "logs", "kit.py", "key.json"))
    )
    return {"frozen": frozen, "outcomes": found}


def page() -> str:
    """docs/blind_rounds.md: every round that has been scored."""
    sections = ["\n".join(page_of(one)) for one in scored()]
    return "\n\n".join([INTRO.rstrip(), *sections]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
