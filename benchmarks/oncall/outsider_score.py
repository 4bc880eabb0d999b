"""Scores the outsider's program (`outsider/`): each ticket of a set, beside all others of the set.

    python -m benchmarks.oncall.outsider_score --num 24 [--first SEED ...] [--write]

Offline, without training: *fixed* is a ticket whose files say again what the healthy ones say,
*solved* one with every place and class as well. Levels 1 to 3 in turn; about ten seconds a ticket
with 24, thirty with 120, of which `--solve` takes the first ones. Each first seed begins a set of
its own, and their counts are added; the score that is kept is of `--first 5000`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path

from benchmarks.oncall.restore_commonest import is_mended
from course_utils.oncall import folder, report, templates

PROGRAM = Path(__file__).parent / "outsider" / "attack.py"
PATH = Path(__file__).with_name("outsider.json")
LIMIT_S = 300


def score(num: int, first: int, solve: int) -> dict[str, Counter]:
    """Tickets, fixed and solved ones, by level and of all: the first of a set beside the others."""
    seeds = range(first, first + num)
    totals: dict[str, Counter] = {level: Counter() for level in ("1", "2", "3", "all")}
    with tempfile.TemporaryDirectory() as scratch:
        others, here = Path(scratch, "others"), Path(scratch, "here")
        for seed in seeds:
            _write(others / str(seed), seed)
        for seed in seeds[:solve]:
            (others / str(seed)).rename(here)
            _solve(here, others)
            fixed, solved = _judge(here, seed)
            _write(others / str(seed), seed)
            for level in (str(1 + seed % 3), "all"):
                totals[level].update(tickets=1, fixed=int(fixed), solved=int(solved))
            print(seed, "fixed" if fixed else "-", "solved" if solved else "-", flush=True)
            subprocess.run(["rm", "-r", str(here)], check=True)
    return totals


def _write(path: Path, seed: int) -> None:
    """The ticket as it is handed out, without the log of its run."""
    ticket = folder.ticket_of(seed, 1 + seed % 3)
    case = folder.case_of(ticket)
    run = templates.load(case.template).about  # the program compares runs that are alike
    letter = f"# Ticket\n\n{case.ticket}\n\n## The run\n\n{run}\n"
    texts = {folder.TICKET: letter, report.NAME: report.form(len(case.faults))}
    folder.write_files(path, folder.drawn(ticket).handed | texts)


def _solve(here: Path, others: Path) -> None:
    """Let the program change the files; what it does not end in time it has not done."""
    command = [sys.executable, str(PROGRAM), str(here), "--others", str(others)]
    try:
        done = subprocess.run(command, cwd=PROGRAM.parent, capture_output=True, timeout=LIMIT_S)
        if done.returncode:
            print("ended with an error", done.stderr.decode()[-200:], flush=True)
    except subprocess.TimeoutExpired:
        print("out of time", here, flush=True)


def _judge(here: Path, seed: int) -> tuple[bool, bool]:
    ticket = folder.ticket_of(seed, 1 + seed % 3)
    drawn = folder.drawn(ticket)
    now = folder.text_files(here, list(drawn.handed))
    fixed = is_mended(drawn.healthy, drawn.handed, now)
    said = (here / report.NAME).read_text(encoding="utf-8")
    told = report.judge(folder.case_of(ticket), drawn.places, said)
    return fixed, fixed and told.is_right


def kept() -> dict[str, dict]:
    """Of each number of other tickets: `on` which day, `kinds` of run, and the counts by level."""
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--num", type=int, default=24, help="tickets of the set")
    parser.add_argument(
        "--first", type=int, nargs="+", default=[5000], help="the seed of each set's first ticket"
    )
    parser.add_argument("--solve", type=int, help="how many of a set are solved (default: all)")
    parser.add_argument("--write", action="store_true", help="keep the score for docs/oncall.md")
    asked = parser.parse_args()
    totals: dict[str, Counter] = {}
    for first in asked.first:
        for level, one in score(asked.num, first, asked.solve or asked.num).items():
            totals.setdefault(level, Counter()).update(one)
    print({level: dict(one) for level, one in totals.items()})
    if asked.write:
        levels = {level: dict(one) for level, one in totals.items()}
        now = {"on": str(date.today()), "kinds": len(templates.names()), "levels": levels}
        known = kept() | {str(asked.num - 1): now}
        PATH.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
