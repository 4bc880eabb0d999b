"""Proves the instruments on other versions of the libraries: `make stacks`.

    python -m tests.stacks [--write] [NAME ...]

In each stack, or in those of these names, pip installs the instruments from a wheel of these
sources, and the cases are run. It exits with 1 where pip changed a version, an instrument is wrong
or a case crashed, and with 3 where no package index answers. The outcomes are kept in
`build/stacks/`; `--write` makes docs/stacks.md of all that are there.
"""

import argparse
import json
import platform
import sys
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path

from course_utils.errors import IndexUnreachable
from course_utils.shown.report import Table
from tests.stacks.beside import ROOT, Beside, beside, build_wheel
from tests.stacks.declare import STACKS, Stack
from tests.stacks.page import BROKEN_RUN, COLUMNS, Outcomes, page, row

KEPT = ROOT / "build" / "stacks"
PAGE = ROOT / "docs" / "stacks.md"
NO_INDEX = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stacks")
    parser.add_argument("names", nargs="*", choices=[[], *(stack.name for stack in STACKS)])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    chosen = [stack for stack in STACKS if not asked.names or stack.name in asked.names]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        for stack in chosen:
            print(f"{stack.name}: {stack.what} ...", file=sys.stderr)
            try:
                with beside(stack, wheel) as placed:
                    found.append(proved(stack, placed))
            except IndexUnreachable as error:
                print(error, file=sys.stderr)
                return NO_INDEX
            print("\n".join(found[-1].complaints()))
    print(Table(columns=COLUMNS, rows=[row(one) for one in found]))
    if asked.write:
        PAGE.write_text(page([one for stack in STACKS if (one := kept(stack))]), encoding="utf-8")
    return int(not all(one.holds for one in found))


def proved(stack: Stack, placed: Beside) -> Outcomes:
    """Run all cases in the stack, and the broken run that the page shows; keep what came of it."""
    cases = [json.loads(line) for line in placed.said("-m", "cases", "--json").splitlines()]
    found = Outcomes(
        name=stack.name,
        what=stack.what,
        python=platform.python_version(),
        on=str(date.today()),
        installed=list(placed.after),
        changed=placed.changed,
        cases=cases,
        shown=placed.said("-c", BROKEN_RUN) if "trl" in stack.packages else "",
    )
    KEPT.mkdir(parents=True, exist_ok=True)
    KEPT.joinpath(f"{stack.name}.json").write_text(json.dumps(asdict(found)), encoding="utf-8")
    return found


def kept(stack: Stack) -> Outcomes | None:
    path = KEPT / f"{stack.name}.json"
    return Outcomes(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
