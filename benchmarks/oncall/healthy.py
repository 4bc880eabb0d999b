"""Hands the healthy files in, as a ticket writes them, and counts how often the judge refuses them.

    python -m benchmarks.oncall.healthy [--each 15] [--of TEMPLATE ...]

`healthy.json` keeps each hand-in, and what it has is not trained again until the template changes.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from course_utils.oncall import cases, folder, spread, templates
from course_utils.oncall import check as checks
from course_utils.oncall.declare import Case, Verdict
from course_utils.oncall.shared_trainer import judge

KEPT = Path(__file__).with_name("healthy.json")
FIRST = 50_000  # seeds that nothing else of the course draws


@dataclass(frozen=True)
class HandIn:
    """One hand-in.

    Attributes:
        trained: the seeds that were trained.
        missed: those of them on which the healthy files were not healthy; each was left out.
        seconds: on the clock, of the check.
        made_of: the fingerprint of the template.
    """

    template: str
    case: str
    seed: int
    is_fixed: bool
    trained: int
    missed: int
    seconds: float
    made_of: str


class Counting:
    """A judge that keeps its verdicts."""

    def __init__(self) -> None:
        self.verdicts: dict[int, Verdict] = {}

    def verdict(self, case: Case, files: dict[str, str], *, seed: int, **others) -> Verdict:
        self.verdicts[seed] = judge().verdict(case, files, seed=seed, **others)
        return self.verdicts[seed]

    def strays(self, case: Case, mended: dict[str, str], **others) -> str:
        return judge().strays(case, mended, **others)


def kept() -> list[HandIn]:
    return [HandIn(**one) for one in json.loads(KEPT.read_text())] if KEPT.exists() else []


def write(found: list[HandIn]) -> None:
    lines = ",\n".join(json.dumps(vars(one)) for one in found)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def tickets(template: str) -> Iterator[tuple[int, str]]:
    """Seeds, and cases of that template in turn."""
    names = [name for name in cases.proved() if cases.load(name).template == template]
    for number in count():
        yield FIRST + number, names[number % len(names)]


def hand_in(template: str, seed: int, name: str) -> HandIn:
    """The verdict on the healthy files of one ticket."""
    case, seen, began = cases.load(name), Counting(), time.monotonic()
    ticket = folder.ticket_of(seed, case.level, case)
    outcome = checks.judged(ticket, folder.handed_out(ticket)[0], None, lambda: seen)
    return HandIn(
        template=template,
        case=name,
        seed=seed,
        is_fixed=outcome.is_fixed,
        trained=len(seen.verdicts),
        missed=sum(not one.is_healthy for one in seen.verdicts.values()),
        seconds=round(time.monotonic() - began, 1),
        made_of=spread.load(templates.load(template)).made_of,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=15, help="hand-ins of each template")
    parser.add_argument("--of", nargs="*", metavar="TEMPLATE")
    asked = parser.parse_args()
    of = asked.of or templates.names()
    now = {name: spread.load(templates.load(name)).made_of for name in of}
    found = [one for one in kept() if now.get(one.template, one.made_of) == one.made_of]
    done = {(one.case, one.seed) for one in found}
    for drawn in zip(*(islice(tickets(name), asked.each) for name in of), strict=True):
        for name, (seed, case) in zip(of, drawn, strict=True):
            if (case, seed) not in done:
                found.append(hand_in(name, seed, case))
                write(found)
                print(found[-1], flush=True)


if __name__ == "__main__":
    main()
