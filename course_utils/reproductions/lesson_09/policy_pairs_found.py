"""Recorded findings of `compare_policies` on many pairs; run as a module to record them again.

Twenty seeds of every cause take some five minutes; the file holds what was found, not what is due.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import click

from course_utils.shown.report import Table

FILE = Path(__file__).with_suffix(".json")
NUM_SEEDS = 20
# The right answer for each kind of pair: "cannot tell" where no hypothesis covers the cause.
DUE = {
    "healthy": (),
    "healthy at another temperature": (),
    "healthy with top_p": (),
    "temperature": ("temperature",),
    "top_p": ("support",),
    "top_k": ("support",),
    "min_p": ("support",),
    "repetition penalty": ("penalty",),
    "temperature and top_p": ("temperature", "support"),
    "bfloat16": ("precision",),
    "float16": ("precision",),
    "int8": ("precision",),
    "temperature and bfloat16": ("temperature", "precision"),
    "stale": ("stale",),
    "stale and temperature": ("temperature", "stale"),
    "stale, no weights kept": ("cannot tell",),
    "5 bits": ("cannot tell",),
    "mask forgotten": ("mask",),
    "positions": ("positions",),
    "system prompt": ("context",),
    "shifted": ("shifted",),
    "divided after the softmax": ("temperature", "scaled"),
    "retokenised": ("retokenised",),
}


def find(cause: str, seed: int) -> tuple[str, ...]:
    """The causes that the instrument names for one pair."""
    from course_utils.reproductions.lesson_09.policy_pairs import (
        pair,  # seconds; reading needs none of it
    )

    return pair(cause, seed).compare().causes


@cache
def found() -> dict[str, list[tuple[str, ...]]]:
    """The recorded findings for each sort of pair, by seed."""
    said = json.loads(FILE.read_text(encoding="utf-8"))
    return {cause: [tuple(names) for names in by_seed] for cause, by_seed in said.items()}


def table() -> Table:
    """For each sort of pair how often exactly its cause was named, and the other answers."""
    rows = []
    for cause, by_seed in found().items():
        others = Counter(", ".join(names) or "agree" for names in by_seed if names != DUE[cause])
        right = sum(names == DUE[cause] for names in by_seed)
        told = "; ".join(f"{number} {names}" for names, number in others.items())
        rows.append((cause, ", ".join(DUE[cause]) or "agree", f"{right} of {len(by_seed)}", told))
    columns = ("pair", "expected", "found", "other answers")
    return Table(columns=columns, rows=rows)


@click.command()
@click.argument("causes", nargs=-1, type=click.Choice(list(DUE)))
def main(causes: tuple[str, ...]) -> None:
    """Look at the named sorts of pairs again, or at all of them."""
    said = dict(found()) if FILE.exists() else {}
    for cause in causes or DUE:
        said[cause] = [find(cause, seed) for seed in range(NUM_SEEDS)]
        FILE.write_text(json.dumps(said, indent=0) + "\n", encoding="utf-8")
        click.echo(f"{cause}: {Counter(said[cause])}")


if __name__ == "__main__":
    main()
