"""Compares two calls of `course oncall bench` ticket by ticket, such as without and with a skill.

python -m benchmarks.oncall.paired OUT OTHER
"""

import argparse
import json
import math
import sys
from pathlib import Path

from course_utils.oncall.bench.score import COUNTED, Score
from course_utils.oncall.bench.stored import PROTOCOL, read_scores
from course_utils.shown.report import Table


def by_chance(lost: int, gained: int) -> float:
    """Probability of a difference at least this large, either way, if both are equally good.

    >>> round(by_chance(0, 6), 3), by_chance(3, 3)
    (0.031, 1.0)
    """
    num = lost + gained
    tail = sum(math.comb(num, k) for k in range(min(lost, gained) + 1))
    return min(1.0, 2 * tail / 2**num)


def table(one: dict[str, Score], other: dict[str, Score]) -> Table:
    """Of each thing that is counted: tickets with more of it in one call, the other, neither.

    Of false fixes, which only healthy runs can have, fewer are better.
    """
    names = sorted(one.keys() & other.keys())
    rows = []
    for of, (right, _) in COUNTED.items():
        pairs = [(right(one[name]), right(other[name])) for name in names]
        lost, gained = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
        totals = [str(sum(values)) for values in zip(*pairs, strict=True)] or ["0", "0"]
        same = len(pairs) - lost - gained
        numbers = (*totals, str(lost), str(gained), str(same), f"{by_chance(lost, gained):.3f}")
        rows.append((of.replace("_", " "), *numbers))
    columns = ("", "first", "second", "only first", "only second", "alike", "by chance")
    return Table(title=f"{len(names)} tickets in both", columns=columns, rows=rows)


def seed_of(out: Path) -> str:
    """The mark of the secret seed that the tickets in this folder were drawn from."""
    try:
        return json.loads((out / PROTOCOL).read_text(encoding="utf-8"))["seed_mark"]
    except (OSError, ValueError, KeyError, TypeError):
        sys.exit(f"{out} holds no results of `course oncall bench`")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("outs", nargs=2, type=Path)
    one, other = parser.parse_args(arguments).outs
    if seed_of(one) != seed_of(other):
        sys.exit("these are results on other tickets: give both calls the same --seed-file")
    print(table(read_scores(one), read_scores(other)).text())


if __name__ == "__main__":
    main()
