"""Our own two: `diagnose` and `course explain`."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.diagnostics.yardstick.adapters.answers import said, skipped
from benchmarks.diagnostics.yardstick.adapters.runs import run_in


def explain(folder: Path) -> dict:
    ran = [sys.executable, "-m", "course_utils.explain", "--json", folder / "log.txt"]
    answer = json.loads(subprocess.run(ran, capture_output=True, text=True).stdout)
    found = [(one["key"], one["says"]) for one in answer["findings"] if not one["healthy"]]
    return said(found, {key: key for key, _ in found})


def diagnose(folder: Path) -> dict:
    if not (folder / "run.py").exists():
        return skipped("needs a run; a log alone is for `course explain`")
    from benchmarks.diagnostics.tools import by_diagnose
    from course_utils.causes import CAUSES

    found = [(key, CAUSES[key].says) for key in by_diagnose(run_in(folder)).keys]
    return said(found, {key: key for key, _ in found})
