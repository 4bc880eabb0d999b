"""Judges fixes that strangers wrote, otherwise than ours, by the judge as it is now.

    python -m benchmarks.oncall.mends [--write] [NUMBER ...]

`mends.json` holds them as edits of the tickets that were drawn then; a ticket that is written in
another way today is left out. Every fix that is right in its author's judgement must be solved.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from course_utils.oncall import cases, folder
from course_utils.oncall import check as checks
from course_utils.oncall.binaries import TENSORS
from course_utils.oncall.declare import Files
from course_utils.oncall.shared_trainer import judge

KEPT = Path(__file__).with_name("mends.json")
LineEdits = list[list]  # each [first, behind, lines], counted from 0 in the file handed out
WIDTH = 76  # of the lines that a file of tensors is cut into for this


@dataclass
class Mend:
    """One fix, and what was said of it.

    Attributes:
        author: 1 to 7 (3 and 7 are two people each); "about" says how each worked.
        handed: a digest of the files that it edits.
        edits: by file; None where it was deleted.
        report: the entry for its fault, or for each.
        is_right: whether the fault is gone and nothing else worse; in its author's judgement.
        is_report_right: the same of the place in its report.
        first: the result of the day it was written; now: the last one by `--write`.
    """

    case: str
    seed: int
    level: int
    what: str
    handed: str
    edits: dict[str, LineEdits | None]
    report: dict[str, str] | list[dict[str, str]]
    is_right: bool
    is_report_right: bool
    first: dict[str, bool]
    now: dict[str, bool] = field(default_factory=dict)
    author: int = 1

    @property
    def ticket(self) -> folder.Ticket:
        return folder.ticket_of(self.seed, self.level, cases.load(self.case))

    @property
    def must_be_solved(self) -> bool:
        return self.is_right and self.is_report_right

    def files(self) -> Files | None:
        """The mended files; None where the ticket is written in another way now."""
        handed = folder.handed_out(self.ticket)[1]
        if folder.digest(handed) != self.handed:
            return None
        edited = {
            name: _edited(handed.get(name, ""), edits, name)
            for name, edits in self.edits.items()
            if edits is not None
        }
        return {name: handed[name] for name in handed if name not in self.edits} | edited

    @property
    def reported(self) -> list[dict[str, str]]:
        return self.report if isinstance(self.report, list) else [self.report]

    def report_text(self) -> str:
        return yaml.safe_dump({"faults": self.reported})


def lines_of(text: str, name: str) -> list[str]:
    """What edits count in: a file of tensors is one long line."""
    if not name.endswith(TENSORS):
        return text.splitlines()
    return [text[at : at + WIDTH] for at in range(0, len(text), WIDTH)]


def _edited(text: str, edits: LineEdits, name: str) -> str:
    lines = lines_of(text, name)
    for first, behind, new in sorted(edits, reverse=True):
        lines[first:behind] = new
    return "".join(lines) if name.endswith(TENSORS) else "\n".join(lines) + "\n"


def kept() -> tuple[list[str], list[Mend]]:
    """How each author worked, and the fixes."""
    said = json.loads(KEPT.read_text(encoding="utf-8"))
    return said["about"], [Mend(**one) for one in said["mends"]]


def judged(mends: list[Mend]) -> Iterator[tuple[Mend, checks.Outcome | None]]:
    for mend in mends:
        files = mend.files()
        yield mend, files and checks.judged(mend.ticket, files, mend.report_text(), judge)


def write(about: list[str], mends: list[Mend]) -> None:
    lines = ",\n".join(json.dumps(vars(one), ensure_ascii=False) for one in mends)
    text = f'{{"about": {json.dumps(about)},\n"mends": [\n{lines}\n]}}\n'
    KEPT.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER")
    asked = parser.parse_args()
    about, mends = kept()
    chosen = [mends[n] for n in asked.numbers] or mends
    for mend, outcome in judged(chosen):
        if outcome is None:
            print(f"{mend.case}, seed {mend.seed}: written in another way now")
            continue
        mend.now = {"fixed": outcome.is_fixed, "solved": outcome.is_solved}
        is_well = outcome.is_solved if mend.must_be_solved else outcome.is_fixed == mend.is_right
        print(f"{mend.case}, seed {mend.seed}: {mend.now}{'' if is_well else '  <- ' + mend.what}")
        if asked.write:
            write(about, mends)


if __name__ == "__main__":
    main()
