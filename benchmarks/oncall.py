"""Proves every case of the exam over three seeds and writes the table down: `make oncall`.

    python -m benchmarks.oncall [--write] [--keep FILE] [ID ...]

A case holds on a seed when the broken run fails, the fix passes, and every part of the fix and
every non-fix fails. It exits with 1 where one does not.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from course_utils.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
from benchmarks import oncall_scores  # noqa: E402
from benchmarks.markdown import table  # noqa: E402
from benchmarks.oncall_words import guessed  # noqa: E402
from course_utils.incidents.declare import CLASSES  # noqa: E402
from course_utils.oncall import attacks, cases, spread, templates  # noqa: E402
from course_utils.oncall.declare import Case  # noqa: E402
from course_utils.oncall.proving import FIX, SEEDS, Judge, proved  # noqa: E402
from course_utils.oncall.training import Trainers  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "oncall.md"
Seen = dict[str, list]  # of one case: [variant, seed, whether it is as it must be, what was said]


def prove(names: list[str], keep: Path | None) -> Seen:
    """Every variant of every named case, with what was kept of an earlier call."""
    kept = json.loads(keep.read_text()) if keep and keep.exists() else {}
    marks = {name: fingerprint(cases.load(name)) for name in names}
    missing = [name for name in names if kept.get(name, {}).get("of") != marks[name]]
    with Trainers() if missing else nullcontext() as trainers:
        judge = Judge(trainers)
        for name in missing:
            kept[name] = {"of": marks[name], "seen": _proved(cases.load(name), judge)}
            print(name, f"{held(kept[name]['seen'])} of {len(SEEDS)}", flush=True)
            if keep:
                keep.write_text(json.dumps(kept, indent=1))
    return {name: kept[name]["seen"] for name in names}


def fingerprint(case: Case) -> str:
    """Changes with the case's module, and with its template."""
    own = (Path(cases.__file__).parent / f"{case.id}.py").read_text(encoding="utf-8")
    template = templates.fingerprint(templates.load(case.template))
    return f"{template} {hashlib.sha256(own.encode()).hexdigest()[:16]}"


def _proved(case: Case, judge: Judge) -> list:
    return [
        [seen.variant, seen.seed, seen.is_as_it_must_be, "; ".join(seen.verdict.problems)[:200]]
        for seen in proved(case, judge)
    ]


def held(seen: list) -> int:
    """On how many seeds every variant is as it must be."""
    return sum(all(ok for _, s, ok, _ in seen if s == seed) for seed in SEEDS)


def page(found: Seen) -> str:
    """docs/oncall.md."""
    loaded = [cases.load(name) for name in found]
    levels = Counter(case.level for case in loaded)
    kinds = {fault.kind for case in loaded for fault in case.faults}
    counted = ", ".join(f"{levels[level]} of level {level}" for level in sorted(levels))
    right, chance, num = guessed(loaded)
    parts = [
        "# The tickets of the exam",
        "",
        "Made by `make oncall`. **It gives the answers away**; who wants to be examined reads on "
        "elsewhere.",
        "",
        f"{counted}; {len(kinds)} of {len(CLASSES)} classes; {len(templates.names())} healthy "
        "runs. A case held on a seed when the broken run failed the check, the fix passed it, and "
        "every part of the fix and every non-fix failed. Tried on every case: "
        f"{', '.join(attacks.STANDARD)}.",
        "",
        *table(
            ("case", "level", "run", "classes", "cause", "other non-fixes", "held"),
            [(*_row(case), f"{held(found[case.id])} of {len(SEEDS)}") for case in loaded],
        ),
        "",
        "## What the words of a ticket give away",
        "",
        f"A guess by the bag of words of the other tickets names the class of {right} of {num} "
        f"tickets; guesses with the classes shuffled name {chance:.1f} in the mean.",
        "",
        "## Healthy runs",
        "",
        f"What the check holds a mended run against: {len(spread.SEEDS)} seeds, another base and "
        "other data each.",
        "",
        *table(
            ("run", "what is measured", "lowest", "highest", "counts as healthy"),
            [row for name in templates.names() for row in _spread_rows(name)],
        ),
        "",
        *_scores(),
        "## How a case failed",
        "",
        "The first problem that the check named for the broken run and for each non-fix, seed "
        f"{SEEDS[0]}.",
        "",
        *table(
            ("case", "variant", "what the check said"),
            [
                (name, variant, said.split(";")[0])
                for name, seen in found.items()
                for variant, seed, _, said in seen
                if seed == SEEDS[0] and variant != FIX
            ],
        ),
    ]
    return "\n".join(parts) + "\n"


def _scores() -> list[str]:
    """How programs do that do not understand, and how others can be scored."""
    if not oncall_scores.kept():
        return []
    return [
        "## Programs against tickets",
        "",
        "`course oncall bench --out OUT -- COMMAND` draws tickets from a secret seed, starts "
        "COMMAND in a copy of each folder (bubblewrap: a read-only file system without the "
        "cases, and a "
        "time limit), then judges the folder as `check` does. A place or a class counts once a "
        "fault; solved is a healthy run with every place and class. OUT keeps a line a ticket, so "
        "that the same command goes on after a crash; `protocol.json` says what was asked, with a "
        "mark of the seed in place of the seed. Submit both files.",
        "",
        f"Of seed {oncall_scores.SEED} (`python -m benchmarks.oncall_scores`): *nothing* edits "
        "nothing; *explain* and *diagnose* report their first cause and mend nothing; *bisect* "
        "draws settings at random until the log looks better, and cuts them down.",
        "",
        *table(oncall_scores.columns(), oncall_scores.rows()),
        "",
    ]


def _row(case: Case) -> tuple[str, ...]:
    kinds = ", ".join(fault.kind for fault in case.faults)
    causes = " ".join(fault.cause for fault in case.faults)
    return case.id, str(case.level), case.template, kinds, causes, ", ".join(case.non_fixes)


def _spread_rows(name: str) -> list[tuple[str, ...]]:
    template = templates.load(name)
    kept = spread.load(template)
    return [
        (
            name,
            of.says,
            f"{min(kept.values[metric]):.3g}",
            f"{max(kept.values[metric]):.3g}",
            f"{'at least' if of.higher else 'at most'} {spread.bound(template, kept, metric):.3g}",
        )
        for metric, of in template.metrics.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, help="a file of proofs, to go on from and add to")
    asked = parser.parse_args()
    found = prove(asked.names or cases.names(), asked.keep)
    for name, seen in found.items():
        for variant, seed, is_as_it_must_be, said in seen:
            if not is_as_it_must_be:
                print(f"{name}, seed {seed}, {variant}: {said or 'passes'}", file=sys.stderr)
    if asked.write:
        PAGE.write_text(page(found), encoding="utf-8")
    return int(any(held(seen) < len(SEEDS) for seen in found.values()))


if __name__ == "__main__":
    sys.exit(main())
