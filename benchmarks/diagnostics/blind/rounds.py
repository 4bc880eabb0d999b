"""Blind rounds that have been scored: outcomes, a reader's verdicts, and what they add up to."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.diagnostics.blind.doors import DOORS, ROOT, cases

HERE, PASTED = Path(__file__).parent, ROOT / "tests" / "helpers" / "pasted"
MARKS = ("right", "near", "wrong", "nothing")  # of the cause that a report puts first
OF_LOGS = ("right", "honest", "near", "missed", "wrong")


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
        verdicts = read_json(judged) if judged.exists() else {}
        return cls(folder.name, read_json(key), kept["outcomes"], verdicts, kept["frozen"])

    def doors(self, name: str, variant: str) -> list[str]:
        return [door for door in DOORS if f"{name}.{variant}.{door}" in self.outcomes]

    def verdict(self, name: str, variant: str, door: str) -> dict:
        """The reader's verdict; a door that says the same as another is given by its name."""
        if door == "best":
            return _best([self.verdict(name, variant, d) for d in self.doors(name, variant)])
        given = self.verdicts.get(f"{name}.{variant}", {})
        found = given.get(door, {})
        return given[found] if isinstance(found, str) else found

    def keys(self, name: str, variant: str, door: str) -> list[str]:
        """The causes that a door names; none where it does not fit the case."""
        return self.outcomes.get(f"{name}.{variant}.{door}", {}).get("keys", [])

    def of_log(self, name: str) -> dict:
        """The reader's verdict on the answer to a log."""
        return self.verdicts.get(f"log_{name}", {})

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
        sources = {name: log["source"].split("/") for name, log in self.key["logs"].items()}
        threads = {name: at for name, at in sources.items() if len(at) > 2}
        return [name for name, at in threads.items() if _plain(f"{at[-3]}-{at[-1]}") in ours]


def read_json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def _plain(thread: str) -> str:
    return re.sub(r"[^a-z0-9]", "", thread.lower())


def _best(verdicts: list[dict]) -> dict:
    read = [one for one in verdicts if one]
    best = {asked: any(one.get(asked) for one in read) for asked in ("detected", "place", "fix")}
    causes = [one["cause"] for one in read if "cause" in one]
    said = dict.fromkeys(quote for one in read for quote in one.get("false", []))
    return {"cause": min(causes, key=MARKS.index, default=""), **best, "false": list(said)}


def scored() -> list[Round]:
    """Every round that has been scored, the oldest first."""
    kept = sorted(
        HERE.glob("round_*/outcomes.json"),
        key=lambda path: int(path.parent.name.removeprefix("round_")),
    )
    return [Round.of(one.parent, read_json(one)) for one in kept]


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
    num_loud = sum(any(of.keys(n, variant, door) for door in asked) for n in ran)
    return f"{num_loud} of {len(ran)}"
