"""Runs each case of a blind round through each door of `diagnose`, and each log through `explain`.

A case and a door have a forked process of their own, so that a run which dies takes nothing with
it. Each report is kept as text and as JSON in build/blind/ROUND/; what is there is not run again.
"""

import contextlib
import importlib
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.diagnostics.tools import Outcome, in_child
from course_utils.diagnostics import DiagnoseCallback, diagnose

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "build" / "blind"
NUM_STEPS = 20
LIMIT_S = 60  # of `explain`
NOT_PRINTED = "Nothing was printed."


def look(trainer: Any) -> Outcome:
    """`diagnose(trainer)` before any step."""
    return _said(diagnose(trainer))


def steps(trainer: Any) -> Outcome:
    """`diagnose(trainer, steps=...)`, which takes steps and puts them back."""
    return _said(diagnose(trainer, steps=NUM_STEPS))


def callback(trainer: Any) -> Outcome:
    """README's callback: only what it prints counts."""
    rider, heard = DiagnoseCallback(trainer), io.StringIO()
    trainer.add_callback(rider)
    with contextlib.redirect_stdout(heard):
        error = _error_of(trainer.train)
    if str(rider.report) not in heard.getvalue():
        return Outcome(text=NOT_PRINTED, ended=error)
    return _said(rider.report, error)


def watching(trainer: Any) -> Outcome:
    """`with diagnose.watching(trainer) as run`, and `run.report`, also after an error."""
    ride = diagnose.watching(trainer)

    def train() -> None:
        with ride:
            trainer.train()

    error = _error_of(train)
    return _said(ride.report, error)


DOORS = {door.__name__: door for door in (look, steps, callback, watching)}
OF_LOOPS = ("look", "watching")  # the doors that fit a loop of one's own


def through(door: str, module: Any, folder: str, healthy: bool) -> Outcome:
    """A door's outcome on a case: a Trainer that the case makes, or a loop that it runs."""
    if not hasattr(module, "train"):
        return DOORS[door](module.make(folder, healthy=healthy))
    reports = []

    @contextlib.contextmanager
    def watch(model: Any, **parts: Any) -> Iterator[None]:
        if door == "look":  # of the finished loop: its log is full by then
            yield
            reports.append(diagnose(model, **parts))
        else:
            ride = diagnose.watching(model, **parts)
            try:
                with ride:
                    yield
            finally:
                reports.append(ride.report)

    error = _error_of(partial(module.train, healthy=healthy, watch=watch))
    return _said(reports[0], error) if reports else Outcome(text=NOT_PRINTED, ended=error)


def _said(report: Any, error: str = "") -> Outcome:
    keys = [one.key for one in report.causes]
    return Outcome(keys=keys, text=str(report), found=report.to_dict(), ended=error)


def _error_of(function: Callable[[], object]) -> str:
    try:
        function()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"[:300]
    return ""


def outcomes(of_round: str, names: list[str]) -> dict[str, dict]:
    """Outcomes of a round by NAME.VARIANT.DOOR and log_NAME; runs what is not kept yet."""
    package = f"{__package__}.{of_round}"
    folder = Path(importlib.import_module(package).__file__).parent
    key = json.loads((folder / "key.json").read_text(encoding="utf-8"))
    kept, jobs = KEPT / of_round, {}
    kept.mkdir(parents=True, exist_ok=True)
    for name in key["logs"]:
        jobs[f"log_{name}"] = partial(explained, folder / "logs" / f"{name}.txt")
    for name, variant in cases(key):
        module = _module_of(package, name)
        for door in OF_LOOPS if hasattr(module, "train") else DOORS:
            jobs[f"{name}.{variant}.{door}"] = partial(_run, door, module, variant != "broken")
    for name, job in jobs.items():
        if not names or name.partition(".")[0] in names:
            _keep(kept / name, job)
    return {
        name: json.loads(_with_end(kept / name, ".json").read_text(encoding="utf-8"))
        for name in jobs
        if _with_end(kept / name, ".json").exists()
    }


def cases(key: dict) -> list[tuple[str, str]]:
    """Names and variants; the broken runs come first."""
    broken = [name for name, case in key["runs"].items() if case["verdict"] == "broken"]
    healthy = [(name, "healthy") for name in key["runs"] if name not in broken]
    return [*((n, "broken") for n in broken), *((n, "twin") for n in broken), *healthy]


def _module_of(package: str, name: str) -> Any:
    """A case's own module, or its part of `listed.py`, where a round has all cases in one file."""
    if not importlib.util.find_spec(f"{package}.listed"):
        return importlib.import_module(f"{package}.runs.{name}")
    listed = importlib.import_module(f"{package}.listed")
    if name in listed.CASES:
        return SimpleNamespace(make=lambda _folder, healthy: listed.CASES[name](healthy))
    return SimpleNamespace(make=lambda _folder, healthy: listed.ODD[name]())


def _run(door: str, module: Any, healthy: bool) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        return in_child(lambda: module, lambda made: through(door, made, folder, healthy))


def explained(log: Path) -> Outcome:
    """The outcome of `python -m course_utils.explain` on a file."""
    command = [sys.executable, "-m", "course_utils.explain", str(log)]
    shown, data = (
        subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
        for more in ([], ["--json"])
    )
    if shown.returncode or data.returncode:
        return Outcome(text=shown.stdout + shown.stderr, ended=f"exit code {shown.returncode}")
    found = json.loads(data.stdout)
    keys = [one["key"] for one in found["findings"] if not one["healthy"]]
    return Outcome(keys=keys, text=shown.stdout, found=found)


def _keep(path: Path, job: Callable[[], Outcome]) -> None:
    if _with_end(path, ".json").exists():
        return
    began = datetime.now(UTC)
    made = job()
    kept = {
        "commit": changed("course_utils"),
        "date": f"{began:%Y-%m-%d}",
        "keys": made.keys,
        "ended": made.ended,
        "report": made.found,
    }
    _with_end(path, ".txt").write_text(f"{made.text}\n{made.ended}\n", encoding="utf-8")
    _with_end(path, ".json").write_text(json.dumps(kept, indent=1, default=str), encoding="utf-8")
    print(f"{path.name:45} {made.keys} {made.ended[:60]}", flush=True)


def _with_end(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def changed(*paths: str) -> str:
    """The last commit that changed these paths, with its date; '+' where they were edited since."""

    def git(*words: str) -> str:
        ran = subprocess.run(["git", *words, "--", *paths], cwd=ROOT, capture_output=True)
        return ran.stdout.decode().strip()

    return git("log", "-1", "--format=%h of %cs") + "+" * bool(git("status", "--porcelain"))
