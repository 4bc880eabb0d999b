"""Evaluates four tickets with scripted solvers in inspect_ai; prints what it scored as JSON.

python inspect_tickets.py FOLDER        writes tickets and logs into FOLDER
"""

import json
import os
import sys
from pathlib import Path

from inspect_ai import eval as evaluate
from inspect_ai.log import read_eval_log
from inspect_ai.solver import solver
from inspect_ai.util import sandbox

from benchmarks.oncall import inspect_log
from benchmarks.oncall.inspect_solvers import always_fixes, knows_the_answer
from benchmarks.oncall.inspect_task import tickets
from course_utils.oncall import folder
from course_utils.shown.quiet import quiet_libraries


@solver
def looks_for_the_seed(written):
    """Leaves the run alone, and looks for what a sandbox must not hold."""

    async def solve(state, generate):
        found = await sandbox().exec(["find", ".", "-name", folder.KEPT])
        state.metadata["found"] = found.stdout
        return state

    return solve


def scored(make) -> dict:
    task = tickets(num=2, levels="1,3", healthy=0.5, sandbox="local")
    [written] = Path("oncall-tickets").absolute().iterdir()
    given = {"solver": make(str(written)), "model": "mockllm/model"}
    (log,) = evaluate(task, **given, display="none", log_dir="logs")
    samples = {one.id: one for one in log.samples or []}
    [told] = log.results.scores
    return {
        "status": log.status,
        "scores": {name: one.scores["healthy_again"].value for name, one in samples.items()},
        "rates": {name: metric.value for name, metric in told.metrics.items()},
        "found": [one.metadata.get("found", "") for one in samples.values()],
    }


if __name__ == "__main__":
    quiet_libraries()
    kept = [read_eval_log(str(path)).status for path in inspect_log.KEPT.glob("*.json")]
    os.chdir(sys.argv[1])
    makers = (knows_the_answer, always_fixes, looks_for_the_seed)
    print(json.dumps({one.__name__: scored(one) for one in makers} | {"kept": kept}))
