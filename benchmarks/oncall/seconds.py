"""How long `course oncall new` and `course oncall check` take here: a ticket of each template.

    python -m benchmarks.oncall.seconds [--times 1] [--write]

`new` is timed on the clock; of `check`, which judges a right fix by somebody else, CPU seconds of
all its processes are counted as well. Let nothing else run meanwhile.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import sys
import time
from datetime import date
from itertools import count
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory

import psutil

from benchmarks.markdown import table
from benchmarks.oncall import mends
from course_utils.oncall import cases, folder, report, templates
from course_utils.oncall.shared_trainer import TRAINERS
from course_utils.shown.report import Table

KEPT = Path(__file__).with_name("seconds.json")
COLUMNS = ("run", "`new`, s on the clock", "`check`, s on the clock", "`check`, s of CPU")
LOOKED_AT_EACH_S = 0.5  # looking takes time as well
COURSE = (sys.executable, "-c", "from course_utils.commands import main; main()", "oncall")


def timed(*arguments: str) -> tuple[float, float]:
    """Seconds on the clock, and CPU seconds of a command and of all that it starts.

    Raises:
        RuntimeError: it ended with another code than 0.
    """
    began, used = time.monotonic(), {}
    process = psutil.Popen([*COURSE, *arguments], stdout=DEVNULL)
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        for one in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):  # nobody waits for what is in a box
                used[one.pid] = sum(one.cpu_times()[:2])
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(LOOKED_AT_EACH_S)
    if process.returncode:
        raise RuntimeError(f"course oncall {' '.join(arguments)} ended with {process.returncode}")
    return time.monotonic() - began, sum(used.values())


def drawn_seed(template: str) -> int:
    """The first seed for which `new` draws a ticket of this template."""
    drawn = (seed for seed in count() if folder.draw(seed, 1).template == template)
    return next(drawn)


def right_fix(template: str) -> mends.Mend | None:
    """The first fix of a ticket of this template that must be solved, and whose edits still fit."""
    fixes = (
        one
        for one in mends.kept()[1]
        if one.must_be_solved and cases.load(one.case).template == template and one.files()
    )
    return next(fixes, None)


def measured(template: str, fix: mends.Mend, times: int) -> tuple[float, ...]:
    """Medians of what COLUMNS names."""
    seed = drawn_seed(template)
    with TemporaryDirectory() as parent:
        out, fixed = Path(parent) / "new", Path(parent) / "fixed"
        folder.write(fixed, fix.ticket, TRAINERS)
        folder.write_files(fixed, fix.files() | {report.NAME: fix.report_text()})
        rows = []
        for _ in range(times):
            shutil.rmtree(out, ignore_errors=True)
            new, _ = timed("new", "--seed", str(seed), "--out", str(out))
            rows.append((new, *timed("check", str(fixed))))
    return tuple(round(statistics.median(values), 1) for values in zip(*rows, strict=True))


def said() -> list[str]:
    """What was measured, as a paragraph and a table of docs/oncall.md."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    slowest = [max(values) for values in zip(*kept["runs"].values(), strict=True)]
    how_often = f"medians of {kept['times']}" if kept["times"] > 1 else "once each"
    return [
        f"Measured on {kept['on']} on {kept['machine']}, nothing else running, {how_often}: `new` "
        f"took {slowest[0]} s at most, `check` {slowest[2]} s of CPU at most, on right fixes by "
        "others (`python -m benchmarks.oncall.seconds`).",
        "",
        *table(COLUMNS, rows_of(kept["runs"])),
    ]


def rows_of(runs: dict[str, list[float]]) -> list[tuple[str, ...]]:
    return [(name, *map(str, values)) for name, values in runs.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    runs = {}
    for name in templates.names():
        if fix := right_fix(name):
            runs[name] = measured(name, fix, asked.times)
        print(name, *runs.get(name, ["is not measured: nobody else's fix is kept"]), flush=True)
    print(Table(columns=COLUMNS, rows=rows_of(runs)))
    if asked.write:
        machine = f"{os.cpu_count()} processors ({platform.machine()})"
        kept = {"on": str(date.today()), "machine": machine, "times": asked.times, "runs": runs}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
