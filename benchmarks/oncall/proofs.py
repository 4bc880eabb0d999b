"""Proves every case of the exam over three seeds and writes the table down: `make oncall`.

    python -m benchmarks.oncall.proofs [--write] [--only-kept] [ID ...]

Proofs are kept in a file beside this one, each with a mark of what was trained, so that a case is
proved again when that has changed, and a call that was stopped goes on.
A case holds on a seed when the broken run fails, the fix passes, and every part of the fix and
every non-fix fails, but the parts that are enough, which pass. It exits with 1 where one does not;
--write lets those be drawn that do.
"""

import argparse
import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
from benchmarks.oncall.page import Seen, held, page  # noqa: E402
from course_utils.files.saving import write_atomically  # noqa: E402
from course_utils.oncall import cases  # noqa: E402
from course_utils.oncall.declare import Case  # noqa: E402
from course_utils.oncall.proving import SEEDS, Judge, fingerprint, proved  # noqa: E402
from course_utils.oncall.training import Trainers  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "oncall.md"
KEPT = Path(__file__).with_name("proofs.json")


def prove(names: list[str], keep: Path, *, only_kept: bool = False) -> Seen:
    """Every variant of every named case, with what was kept of an earlier call, or that alone."""
    kept = json.loads(keep.read_text(encoding="utf-8")) if keep.exists() else {}
    marks = {name: fingerprint(cases.load(name)) for name in names}
    if only_kept:
        names = [name for name in names if kept.get(name, {}).get("of") == marks[name]]
    missing = [name for name in names if kept.get(name, {}).get("of") != marks[name]]
    with Trainers() if missing else nullcontext() as trainers:
        judge = Judge(trainers)
        for name in missing:
            kept[name] = {"of": marks[name], "seen": _proved(cases.load(name), judge)}
            print(name, f"{held(kept[name]['seen'])} of {len(SEEDS)}", flush=True)
            write_atomically(keep, as_text(kept))
    return {name: kept[name]["seen"] for name in names}


def as_text(kept: dict) -> str:
    """One line per variant, so that a difference can be read."""
    return re.sub(r"\n {4,}|\n {3}(?=\])", " ", json.dumps(kept, indent=1, sort_keys=True)) + "\n"


def _proved(case: Case, judge: Judge) -> list:
    return [
        [seen.variant, seen.seed, seen.is_as_it_must_be, "".join(seen.verdict.problems[:1])[:150]]
        for seen in proved(case, judge)
    ]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the file of proofs")
    parser.add_argument("--only-kept", action="store_true", help="train nothing")
    asked = parser.parse_args()
    if asked.write and asked.names:
        parser.error("--write writes down what holds of all tickets: give it no names")
    found = prove(asked.names or cases.names(), asked.keep, only_kept=asked.only_kept)
    for name, seen in found.items():
        for variant, seed, is_as_it_must_be, said in seen:
            if not is_as_it_must_be:
                print(f"{name}, seed {seed}, {variant}: {said or 'passes'}", file=sys.stderr)
    if asked.write:
        PAGE.write_text(page(found), encoding="utf-8")
        marks = {n: fingerprint(cases.load(n)) for n in found if held(found[n]) == len(SEEDS)}
        write_atomically(cases.PROVED, json.dumps(marks, indent=1, sort_keys=True) + "\n")
    return int(any(held(seen) < len(SEEDS) for seen in found.values()))


if __name__ == "__main__":
    sys.exit(main())
