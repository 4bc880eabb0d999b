"""Proves every incident over three seeds and writes the corpus down: `make incidents`.

    python -m benchmarks.incidents.proofs [--write] [--missing] [--keep FILE] [NAME ...]

A row says what people paste, the true cause, the threads, on how many seeds the proof held, and its
CPU time. `--missing` takes over the rows that the page already has and runs only the others. It
exits with 1 where one did not hold.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
from benchmarks.markdown import table  # noqa: E402
from course_utils import incidents  # noqa: E402
from course_utils.causes.kinds import CLASSES  # noqa: E402
from course_utils.incidents import healthy, proof  # noqa: E402
from course_utils.incidents.declare import Incident, LookAlike  # noqa: E402

SEEDS = (0, 1, 2)
PAGE = Path(__file__).parents[2] / "docs" / "incidents.md"
COLUMNS = (
    *("incident", "title", "class", "what people see", "cause", "fix", "threads", "held", "CPU s"),
)
PROVED = re.compile(r"^\| (\w+) \|.* \| (\d+) of (\d+) \| ([\d.]+) \|$", re.MULTILINE)


@dataclass
class Proof:
    """The result of the proof of one incident or look-alike."""

    name: str
    seen: list[str]  # of each seed: "held", or what was seen instead
    cpu_s: float  # of one seed, in the mean, child processes too

    @property
    def held(self) -> int:
        return self.seen.count("held")


def prove(name: str, run: Callable[[str, int], str]) -> Proof:
    """Run it over all seeds."""
    before = sum(os.times()[:4])
    seen = [_safely(run, name, seed) for seed in SEEDS]
    return Proof(name, seen, (sum(os.times()[:4]) - before) / len(SEEDS))


def _safely(run: Callable[[str, int], str], name: str, seed: int) -> str:
    try:
        return run(name, seed)
    except Exception as error:  # the others go on
        return f"{type(error).__name__}: {error}"[:200]


def _of_broken(name: str, seed: int) -> str:
    seen = proof.shown(name, seed)
    return "held" if proof.is_proved(seen) else str(seen)


def _of_healthy(name: str, seed: int) -> str:
    return "held" if proof.holds(name, seed) else "it is not healthy"


def page(broken: list[Proof], alikes: list[Proof]) -> str:
    """docs/incidents.md: the corpus, with what was proved about it."""
    loaded = {one.name: incidents.load_incident(one.name) for one in broken}
    kinds = {incident.kind for incident in loaded.values()}
    parts = [
        "# Runs that broke",
        "",
        f"Made by `make incidents`. {len(broken)} broken runs of {len(kinds)} of {len(CLASSES)} "
        "classes, as people met them: each is a tiny, real training run on a CPU, with a healthy "
        "twin that differs in nothing else, and the smallest fix. Held: on how many of "
        f"{len(SEEDS)} seeds the broken run shows its symptom, and neither the twin nor the mended "
        "run does. What a version of today's libraries no longer does by itself is put in by "
        "hand; the module says so in `rebuilt`.",
        "",
        *table(
            COLUMNS,
            [
                (one.name, i.title, i.kind, i.says, i.cause, i.fix, _threads(i), *_numbers(one))
                for one in broken
                for i in [loaded[one.name]]
            ],
        ),
        "",
        "## Runs that only look broken",
        "",
        *table(
            ("run", "title", "what it looks like", "why it is none", "threads", "held", "CPU s"),
            [
                (one.name, a.title, a.looks, a.because, _threads(a), *_numbers(one))
                for one in alikes
                for a in [incidents.load_look_alike(one.name)]
            ],
        ),
    ]
    return "\n".join(parts) + "\n"


def _threads(of: Incident | LookAlike) -> str:
    return ", ".join(of.threads)


def _numbers(one: Proof) -> tuple[str, str]:
    return f"{one.held} of {len(one.seen)}", f"{one.cpu_s:.1f}"


def proved(text: str) -> dict[str, Proof]:
    """The proofs that a page says, by name; one that did not hold on every seed is left out.

    >>> proved("| pad_is_eos | never_stops | it goes on | 3 of 3 | 2.9 |")["pad_is_eos"].held
    3
    """
    rows = PROVED.findall(text)
    return {
        name: Proof(name, ["held"] * int(held), float(cpu_s))
        for name, held, seeds, cpu_s in rows
        if int(held) == int(seeds) == len(SEEDS)
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--missing", action="store_true", help="run only what the page lacks")
    parser.add_argument("--keep", type=Path, help="a file of proofs, to go on from and add to")
    asked = parser.parse_args()
    known = {*incidents.names(), *incidents.names(healthy)}
    if unknown := sorted(set(asked.names) - known):
        parser.error(f"no incident is called {', '.join(unknown)}: `course incident` lists them")
    if asked.write and asked.names:
        parser.error("--write writes the page of all: give --missing in place of names")
    kept = proved(PAGE.read_text(encoding="utf-8")) if asked.missing and PAGE.exists() else {}
    if asked.keep and asked.keep.exists():
        kept |= {name: Proof(**row) for name, row in json.loads(asked.keep.read_text()).items()}
    for names, run in (
        (incidents.names(), _of_broken),
        (incidents.names(healthy), _of_healthy),
    ):
        for name in names:
            if name not in kept and (not asked.names or name in asked.names):
                kept[name] = prove(name, run)
                print(name, kept[name].seen, f"{kept[name].cpu_s:.1f} s", flush=True)
                if asked.keep:
                    asked.keep.write_text(json.dumps({n: vars(p) for n, p in kept.items()}))
    both = [[kept[n] for n in incidents.names(f) if n in kept] for f in (incidents.broken, healthy)]
    if asked.write:
        PAGE.write_text(page(*both), encoding="utf-8")
    return int(any(one.held < len(SEEDS) for one in kept.values()))


if __name__ == "__main__":
    sys.exit(main())
