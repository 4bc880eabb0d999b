"""Keeps logs of the inspect_ai task: of its mock model, and of scripted solvers.

    pip install --editable '.[bench]'
    python -m benchmarks.oncall.inspect_log [NAME ...]

It prints the rates, and docs/agents.md shows them. The events of a sample are left out: they hold
each file that was read, and are a hundred times the rest.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

KEPT, ROOT = Path(__file__).parent / "inspect_logs", Path(__file__).parents[2]
SEED, NUM, HEALTHY = 2026, 2, 0.5  # per level one broken run and a healthy one
NAMES = ("mock_model", "always_fixes", "knows_the_answer")  # of `inspect_solvers`
COLUMNS = ("solver", "places", "classes", "fixed", "solved", "false fixes")


def rows() -> list[tuple[str, ...]]:
    """What the kept logs say, a row each: how many of how many, and the interval."""
    found = []
    for path in sorted(KEPT.glob("*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        [scored] = log["results"]["scores"]
        values = {name: one["value"] for name, one in scored["metrics"].items()}
        cells = [_cell(values, name.replace(" ", "_")) for name in COLUMNS[1:]]
        found.append((path.stem, *cells))
    return found


def _cell(values: dict[str, float], name: str) -> str:
    share, low, high = (round(100 * values[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return f"{share}% ({low}-{high}%)"


def evaluated(name: str, place: Path):
    """The log of the task with the model or the solver of that name."""
    from inspect_ai import eval as evaluate

    from benchmarks.oncall import inspect_solvers
    from benchmarks.oncall.inspect_task import tickets

    (place / "seed").write_text(str(SEED))
    task = tickets(NUM, "1,2,3", HEALTHY, "seed", "kept", "local")
    settings = {"model": inspect_solvers.mock_model(), "display": "none", "log_dir": "logs"}
    if name != "mock_model":
        [written] = (place / "kept").iterdir()
        settings["solver"] = getattr(inspect_solvers, name)(str(written))
    [log] = evaluate(task, **settings)
    if log.status != "success":
        raise RuntimeError(f"{name} ended with {log.status}: {log.error and log.error.message}")
    return log


def keep(name: str, log) -> None:
    from inspect_ai.log import write_eval_log

    for one in log.samples:
        one.events, one.attachments = [], {}
    log.eval.task_file = str(Path(log.eval.task_file).relative_to(ROOT))
    KEPT.mkdir(exist_ok=True)
    write_eval_log(log, KEPT / f"{name}.json", format="json")


def main() -> None:
    from course_utils.shown.quiet import quiet_libraries

    quiet_libraries()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name in sys.argv[1:] or NAMES:
            keep(name, evaluated(name, Path(place)))
    for row in rows():
        print(dict(zip(COLUMNS, row, strict=True)))


if __name__ == "__main__":
    main()
