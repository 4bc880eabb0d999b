"""Proves the instruments on other versions of the libraries: `make stacks`.

    python -m tests.stacks [--write] [NAME ...]

In each stack, or in those of these names, pip installs the instruments from a wheel of these
sources, and the cases are run; `pythons` looks at other versions of Python. It exits with 1 where
pip changed a version, an instrument is wrong or a case crashed, and with 3 where no package index
answers. The outcomes are kept in `build/stacks/`; `--write` makes docs/stacks.md of all of them.
"""

import argparse
import json
import platform
import sys
import tempfile
from dataclasses import asdict, astuple
from datetime import date
from pathlib import Path
from typing import Any

from course_utils.errors import IndexUnreachable
from course_utils.shown.report import Table
from tests.stacks.beside import ROOT, Beside, beside, build_wheel
from tests.stacks.declare import OWN, STACKS, Stack
from tests.stacks.page import (
    BROKEN_RUN,
    COLUMNS,
    PYTHON_COLUMNS,
    SHOWN,
    Outcomes,
    page,
    row,
)
from tests.stacks.pythons import VERSIONS, Seen, look_at

KEPT = ROOT / "build" / "stacks"
PAGE = ROOT / "docs" / "stacks.md"
PYTHONS = "pythons"
NO_INDEX = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stacks")
    every = (OWN, *STACKS)
    names = [*(stack.name for stack in every), PYTHONS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(names):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(names)}")
    wanted = asked.names or names
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        try:
            for stack in (stack for stack in every if stack.name in wanted):
                holds &= _stack(stack, wheel)
        except IndexUnreachable as error:
            print(error, file=sys.stderr)
            return NO_INDEX
        if PYTHONS in wanted:
            holds &= _pythons(wheel)
    if asked.write:
        stacks = [Outcomes(**found) for stack in every if (found := kept(stack.name))]
        pythons = [Seen(**found) for found in kept(PYTHONS) or ()]
        PAGE.write_text(page(stacks, pythons), encoding="utf-8")
    return int(not holds)


def _stack(stack: Stack, wheel: Path) -> bool:
    print(f"{stack.name}: {stack.what} ...", file=sys.stderr)
    with beside(stack, wheel) as placed:
        found = proved(stack, placed)
    keep(stack.name, asdict(found))
    print("\n".join([*found.complaints(), str(Table(columns=COLUMNS, rows=[row(found)]))]))
    return found.holds


def _pythons(wheel: Path) -> bool:
    found = [look_at(version, wheel) for version in VERSIONS]
    keep(PYTHONS, [asdict(one) for one in found])
    print(Table(columns=PYTHON_COLUMNS, rows=[astuple(one) for one in found]))
    return all(one.holds for one in found)


def proved(stack: Stack, placed: Beside) -> Outcomes:
    """Run all cases in the stack, and the broken run that the page shows."""
    cases = [json.loads(line) for line in placed.said("-m", "cases", "--json").splitlines()]
    return Outcomes(
        name=stack.name,
        what=stack.what,
        python=platform.python_version(),
        on=str(date.today()),
        installed=list(placed.after),
        changed=placed.changed,
        cases=cases,
        shown=placed.said("-c", BROKEN_RUN) if stack.name == SHOWN else "",
    )


def keep(name: str, found: object) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    KEPT.joinpath(f"{name}.json").write_text(json.dumps(found), encoding="utf-8")


def kept(name: str) -> Any:
    path = KEPT / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
