"""TrainCheck: invariants of the healthy reference, checked on the run."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.diagnostics.yardstick.adapters.answers import LIMIT_S, command_of, said, skipped

DRIVER = """
import importlib.util, sys
sys.path[:0] = {path!r}
spec = importlib.util.spec_from_file_location("{name}", "{folder}/{name}.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
run = module.make()
model = run.model
run.start()
"""


def traincheck(folder: Path) -> dict:
    """Invariants of the healthy reference, checked on the run: its four steps.

    It starts the script with the first `python3` on the path, and with a PYTHONPATH of its own.
    """
    if not (folder / "run.py").exists():
        return skipped("needs a run and a healthy one to learn from; it reads no logs")
    with tempfile.TemporaryDirectory() as where:
        for name in ("reference", "run"):
            Path(where, f"{name}.py").write_text(
                DRIVER.format(name=name, folder=folder, path=sys.path[1:])
            )
        collect = ["collect_trace", "--models-to-track", "model", "--output-dir"]
        steps = [
            [*collect, "healthy", "--pyscript", "reference.py"],
            ["infer_engine", "-f", "healthy", "-o", "invariants.json"],
            [*collect, "target", "--pyscript", "run.py", "--invariants", "invariants.json"],
            ["checker", "-f", "target", "-i", "invariants.json", "-o", "checked"],
        ]
        env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        for number, (program, *arguments) in enumerate(steps, 1):
            words = [*command_of(f"traincheck.{program}:main"), *arguments]
            try:
                ran = subprocess.run(
                    words, cwd=where, env=env, capture_output=True, text=True, timeout=LIMIT_S / 4
                )
            except subprocess.TimeoutExpired:
                return skipped(f"step {number} of 4 ({program}) took over {LIMIT_S / 4:.0f} s")
            printed = ran.stdout
            if ran.returncode and number != 3:  # the run itself may end with its own error
                last = (ran.stderr.strip() or ran.stdout.strip()).splitlines()[-1:]
                return skipped(f"step {number} of 4 ({program}) failed: {''.join(last)[:150]}")
    counted = re.search(r"Total failed invariants: (\d+)/(\d+)", printed)
    num_violated, num_checked = map(int, counted.groups()) if counted else (0, 0)
    if not num_checked:
        return skipped("no invariant that it inferred could be checked on this run")
    found = [("", f"{num_violated} of {num_checked} invariants of the healthy run are violated")]
    return said(found if num_violated else [], {})
