"""Scores of the programs of `baselines` on tickets of one seed, kept as JSON for the page.

    python -m benchmarks.oncall.scores [--num N] [--limit S] [NAME ...]

The seed stands here, so these are not held-out scores; nothing of these programs was tuned on it.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path

from benchmarks.oncall.baselines import SEEN
from benchmarks.oncall.restore_commonest import look
from course_utils.files.saving import write_atomically
from course_utils.oncall import folder, templates
from course_utils.oncall.bench import drawing, running
from course_utils.oncall.bench.score import Score, table
from course_utils.oncall.bench.stored import Protocol
from course_utils.oncall.training import Trainers

ROOT = Path(__file__).parents[2]
PATH = Path(__file__).parent / "scores.json"
NAMES, SEED = ("nothing", "explain", "diagnose", "bisect", "commonest", "both"), 2026
NUM_SEEN = 140  # tickets of other seeds that the last two have looked at


def _stored() -> dict[str, dict]:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def kept() -> dict[str, list[Score]]:
    """The stored scores, by program."""
    return {name: [Score(**row) for row in one["scores"]] for name, one in _stored().items()}


def when() -> str:
    """The day on which the programs were scored, and with how many kinds of run."""
    days: dict[tuple[str, int], list[str]] = {}
    for name, one in _stored().items():
        days.setdefault((one["on"], one["kinds"]), []).append(f"*{name}*")
    said = [(f"on {day}, with {kinds} kinds of run", who) for (day, kinds), who in days.items()]
    apart = len(said) > 1
    return "; ".join(f"{', '.join(who)} {told}" if apart else told for told, who in said)


def rows() -> list[tuple[str, ...]]:
    """A row for each program and level."""
    return [(name, *row) for name, scores in kept().items() for row in table(scores).rows]


def columns() -> tuple[str, ...]:
    return ("program", *table([next(iter(kept().values()))[0]]).columns)


def scored(name: str, num: int, limit_s: float, trainers: Trainers) -> list[Score]:
    """One program on `num` tickets per level."""
    module = ("-m", "benchmarks.oncall.baselines", name)
    command = ("env", f"PYTHONPATH={ROOT}", sys.executable, *module)  # it starts in a ticket
    mark = drawing.seed_mark(SEED)
    own = (str(ROOT),)  # our programs are modules of the checkout, and read no answer in it
    protocol = Protocol(command, folder.LEVELS, num, limit_s, False, mark, readable=own)
    with tempfile.TemporaryDirectory() as out:
        found = []
        for score in running.scores(protocol, SEED, Path(out), trainers):
            if score.ended not in ("code 0", "time"):
                raise RuntimeError(f"{name} on {score.name} ended with {score.ended}")
            found.append(score)
            print(name, score.name, score.places, score.classes, score.fixed, flush=True)
        return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--num", type=int, default=5)
    parser.add_argument("--limit", type=float, default=300.0)
    asked = parser.parse_args()
    if {"commonest", "both"} & set(asked.names):
        SEEN.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(SEEN, json.dumps(look(NUM_SEEN, folder.VARIED)))
    with Trainers() as trainers:
        for name in asked.names:
            found = scored(name, asked.num, asked.limit, trainers)
            now = {"on": str(date.today()), "kinds": len(templates.names())}
            known = _stored() | {name: now | {"scores": [asdict(score) for score in found]}}
            write_atomically(PATH, json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
