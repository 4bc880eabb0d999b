"""Scores a blind round: which doors name the cause, which alarm, what is false in their reports.

    python -m benchmarks.diagnostics.blind ROUND [--write] [NAME ...]

1. Without --write: runs what is not kept yet (NAME alone: only that), and leaves every report in
   build/blind/ROUND/.
2. A reader judges each report against key.json, in ROUND/verdicts.json (its "how" tells the form).
3. With --write: keeps the outcomes in ROUND/outcomes.json, and writes docs/blind_rounds.md from all
   rounds. A round is scored once: while outcomes.json is there, nothing is run again.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import trl  # noqa: E402, F401  imported once, before the runs are forked

from benchmarks.diagnostics.blind import doors  # noqa: E402
from benchmarks.diagnostics.blind.doors import DOORS, NUM_STEPS, ROOT, cases  # noqa: E402
from benchmarks.markdown import table  # noqa: E402

PAGE, PASTED = ROOT / "docs" / "blind_rounds.md", ROOT / "tests" / "helpers" / "pasted"
HERE = Path(__file__).parent
MARKS = ("right", "near", "wrong", "nothing")  # of the cause that a report puts first
OF_LOGS = ("right", "honest", "near", "missed", "wrong")
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


@dataclass(frozen=True)
class Round:
    """A round's key, its outcomes, and the verdicts of a reader."""

    name: str
    key: dict
    outcomes: dict[str, dict]  # by NAME.VARIANT.DOOR and log_NAME
    verdicts: dict[str, dict]  # by NAME.VARIANT and log_NAME
    frozen: str  # the commit that froze the round

    @classmethod
    def of(cls, folder: Path, kept: dict) -> "Round":
        key, judged = folder / "key.json", folder / "verdicts.json"
        verdicts = _read(judged) if judged.exists() else {}
        return cls(folder.name, _read(key), kept["outcomes"], verdicts, kept["frozen"])

    def doors(self, name: str, variant: str) -> list[str]:
        return [door for door in DOORS if f"{name}.{variant}.{door}" in self.outcomes]

    def verdict(self, name: str, variant: str, door: str) -> dict:
        """The reader's verdict; a door that says the same as another is given by its name."""
        if door == "best":
            return _best([self.verdict(name, variant, d) for d in self.doors(name, variant)])
        given = self.verdicts.get(f"{name}.{variant}", {})
        found = given.get(door, {})
        return given[found] if isinstance(found, str) else found

    @cached_property
    def broken(self) -> list[str]:
        return [name for name, variant in cases(self.key) if variant == "broken"]

    @cached_property
    def fine(self) -> list[tuple[str, str]]:
        return [case for case in cases(self.key) if case[1] != "broken"]

    @cached_property
    def seen_before(self) -> list[str]:
        """Logs whose thread is in our own corpus: these are not blind."""
        ours = {_plain(path.stem) for path in PASTED.glob("*.txt")}
        threads = {name: log["source"].split("/") for name, log in self.key["logs"].items()}
        return [name for name, at in threads.items() if _plain(f"{at[-3]}-{at[-1]}") in ours]


def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def _plain(thread: str) -> str:
    return re.sub(r"[^a-z0-9]", "", thread.lower())


def _best(verdicts: list[dict]) -> dict:
    read = [one for one in verdicts if one]
    best = {asked: any(one.get(asked) for one in read) for asked in ("detected", "place", "fix")}
    causes = [one["cause"] for one in read if "cause" in one]
    said = dict.fromkeys(quote for one in read for quote in one.get("false", []))
    return {"cause": min(causes, key=MARKS.index, default=""), **best, "false": list(said)}


def totals(of: Round) -> list[tuple[str, ...]]:
    """A line per door: what it is right about on broken runs, and its alarms on the others."""
    lines = []
    for door in (*DOORS, "best"):
        asked = list(DOORS) if door == "best" else [door]
        ran = [n for n in of.broken if set(asked) & set(of.doors(n, "broken"))]
        given = [of.verdict(n, "broken", door) for n in ran]
        marks = Counter(one.get("cause") for one in given)
        yes = {ask: sum(bool(v.get(ask)) for v in given) for ask in ("detected", "place", "fix")}
        everywhere = [(n, "broken") for n in ran] + of.fine
        false = sum(len(of.verdict(*case, door).get("false", [])) for case in everywhere)
        cells = [f"{n} of {len(ran)}" for n in (marks["right"], *yes.values())]
        others = [str(marks[mark]) for mark in MARKS[1:]]
        alarms = [_alarms(of, variant, asked) for variant in ("twin", "healthy")]
        lines.append((door, cells[0], *others, *cells[1:], str(false), *alarms))
    return lines


def _alarms(of: Round, variant: str, asked: list[str]) -> str:
    some = [name for name, which in of.fine if which == variant]
    ran = [n for n in some if set(asked) & set(of.doors(n, variant))]
    num_loud = sum(any(_keys(of, n, variant, door) for door in asked) for n in ran)
    return f"{num_loud} of {len(ran)}"


def _keys(of: Round, name: str, variant: str, door: str) -> list[str]:
    return of.outcomes.get(f"{name}.{variant}.{door}", {}).get("keys", [])


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
    columns = ("run", "door", "causes named", "cause", "detected", "place", "fix", "ended")
    yield from table(columns, _rows(of))
    yield "\n### Alarms and false statements\n"
    yield from _complaints(of)
    yield "\n### Logs\n"
    yield from _logs(of)


def _rows(of: Round) -> Iterator[tuple[str, ...]]:
    for name in of.broken:
        for door in of.doors(name, "broken"):
            given = of.verdict(name, "broken", door)
            yes = ["yes" if given.get(ask) else "no" for ask in ("detected", "place", "fix")]
            ended = of.outcomes[f"{name}.broken.{door}"]["ended"].partition(":")[0]
            said = ", ".join(_keys(of, name, "broken", door)) or "nothing"
            yield name, door, said, given.get("cause", "not read"), *yes, ended


def _complaints(of: Round) -> Iterator[str]:
    for name, variant in of.fine:
        said = {d: _keys(of, name, variant, d) for d in of.doors(name, variant)}
        if loud := [f"{door}: {', '.join(keys)}" for door, keys in said.items() if keys]:
            yield f"* Alarm on {name} ({variant}): {'; '.join(loud)}."
    quotes: dict[str, list[str]] = {}
    for name, variant in cases(of.key):
        for quote in of.verdict(name, variant, "best").get("false", []):
            quotes.setdefault(quote, []).append(f"{name} ({variant})")
    for name in of.key["logs"]:
        for quote in _of_log(of, name).get("false", []):
            quotes.setdefault(quote, []).append(f"log {name}")
    yield f"\n{len(quotes)} different false statements, each with what is true:\n"
    yield from (f"* {quote} In {', '.join(where)}." for quote, where in quotes.items())


def _of_log(of: Round, name: str) -> dict:
    return of.verdicts.get(f"log_{name}", {})


def _logs(of: Round) -> Iterator[str]:
    known = of.seen_before
    blind = [name for name in of.key["logs"] if name not in known]
    lines = []
    for title, names in (("blind", blind), ("in our own corpus", known)):
        marks = Counter(_of_log(of, n).get("verdict") for n in names)
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
        verdict = _of_log(of, name).get("verdict", "not read")
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
    kept = _read(path) if path.exists() else _scored(folder)
    print("\n".join(page_of(Round.of(folder, kept))))
    if asked.write:
        path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(), encoding="utf-8")


def _scored(folder: Path) -> dict:
    """What is kept of a round in the repository: all but the reports."""
    found = doors.outcomes(folder.name, [])
    for one in found.values():
        one["healthy"] = bool(one.pop("report").get("healthy"))
    frozen = doors.changed(*(str(folder / part) for part in ("runs", "logs", "kit.py", "key.json")))
    return {"frozen": frozen, "outcomes": found}


def page() -> str:
    """docs/blind_rounds.md: every round that has been scored."""
    scored = sorted(HERE.glob("round_*/outcomes.json"))
    sections = ["\n".join(page_of(Round.of(one.parent, _read(one)))) for one in scored]
    return "\n\n".join([INTRO.rstrip(), *sections]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
