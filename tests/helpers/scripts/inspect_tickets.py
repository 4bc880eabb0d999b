"""Evaluates two tickets with scripted solvers in inspect_ai; prints what it scored as JSON.

python inspect_tickets.py FOLDER        writes tickets and logs into FOLDER
"""

import json
import os
import sys
from pathlib import Path

import yaml
from inspect_ai import eval as evaluate
from inspect_ai.solver import solver
from inspect_ai.util import sandbox

from benchmarks.oncall.inspect_task import tickets
from course_utils.oncall import bench, folder
from course_utils.shown.quiet import quiet_libraries

LEVELS = (1, 3)


def report(case, planted) -> str:
    """The right report on a case."""
    entries = []
    for fault, (place, *_) in zip(case.faults, planted, strict=True):
        where = str(min(place.lines)) if place.lines else "rows"
        entries.append({"file": place.file, "where": where, "class": fault.kind})
    return yaml.safe_dump({"faults": entries})


@solver
def knows_the_answer(drawn):
    async def solve(state, generate):
        ticket = drawn[state.sample_id]
        healthy, handed = folder.handed_out(ticket)
        texts = {name: text for name, text in healthy.items() if text != handed[name]}
        imports = {
            "added_part.py": "X = 1\n",
            "train.py": f"import added_part\n{healthy['train.py']}",
        }
        texts |= imports  # a fix may add modules
        texts["report.yaml"] = report(folder.case_of(ticket), folder.drawn(ticket).places)
        for name, text in texts.items():
            await sandbox().write_file(name, text)
        return state

    return solve


@solver
def looks_for_the_seed(drawn):
    """Leaves the run alone, and looks for what a sandbox must not hold."""

    async def solve(state, generate):
        found = await sandbox().exec(["find", ".", "-name", folder.KEPT])
        state.metadata["found"] = found.stdout
        return state

    return solve


def scored(make) -> dict:
    drawn = dict(bench.tickets(bench.secret_seed(Path("oncall.seed")), LEVELS, 1))
    task = tickets(num=1, levels="1,3", sandbox="local")
    (log,) = evaluate(
        task, model="mockllm/model", solver=make(drawn), display="none", log_dir="logs"
    )
    samples = {one.id: one for one in log.samples or []}
    return {
        "status": log.status,
        "scores": {name: one.scores["healthy_again"].value for name, one in samples.items()},
        "found": [one.metadata.get("found", "") for one in samples.values()],
    }


if __name__ == "__main__":
    quiet_libraries()
    os.chdir(sys.argv[1])
    makers = (knows_the_answer, looks_for_the_seed)
    print(json.dumps({one.__name__: scored(one) for one in makers}))
