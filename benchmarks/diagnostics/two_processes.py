"""The cost of watching each rank of a run of two processes (DDP on gloo), beside other tools.

`python -m benchmarks.diagnostics.two_processes`, from the top of the repository, launches itself.
"""

import json
import statistics
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from benchmarks.diagnostics.nonfinite import LIMIT, SIZES, TOOLS, make_step, seconds
from course_utils.diagnostics import run_in_child
from course_utils.diagnostics.ranks import watch_ranks
from course_utils.shown.quiet import quiet_libraries
from course_utils.shown.report import Table
from tests.helpers.faults.planted import Step

WATCH = "watch_ranks (this course)"
RIVALS = ("bare step", "set_detect_anomaly", "isfinite hooks per module")
ROUNDS = 25
LAUNCH_S = 300


def distributed_step() -> Step:
    """Each tool has its own model: a communication hook cannot be taken off again."""
    dtype, config = SIZES[-1]
    planted = make_step(dtype, **config)
    model = DistributedDataParallel(planted.model)
    return Step(model, lambda batch: model(**batch).loss, planted.batch, planted.optimizer)


def measure(folder: Path) -> dict[str, list[float]]:
    """CPU seconds of every step of this rank; in a round each tool has one, in turn."""
    steps = {name: distributed_step() for name in (*RIVALS, WATCH)}
    watched = steps[WATCH]
    watch = watch_ranks(watched.model, watched.loss_of, folder=folder)
    tools = {name: TOOLS[name] for name in RIVALS} | {WATCH: lambda _planted: watch}
    taken: dict[str, list[float]] = {name: [] for name in tools}
    for _ in range(ROUNDS + 2):
        for name, tool in tools.items():
            dist.barrier()
            taken[name].append(seconds(tool, steps[name]))
    return {name: values[2:] for name, values in taken.items()}  # the first ones warm up


def compare() -> Table:
    """Launch two processes and lay out what each rank measured."""
    torchrun = [Path(sys.executable).with_name("torchrun"), "--standalone", "--nproc-per-node", "2"]
    with TemporaryDirectory() as folder:
        ended = run_in_child([*torchrun, __file__, folder], timeout_s=LAUNCH_S)
        if ended.exit_code:
            raise RuntimeError(str(ended))
        taken = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in (0, 1)]
    rows, worst = [], 0.0
    for name in taken[0]:
        ratios = [
            statistics.median(a / b for a, b in zip(rank[name], rank["bare step"], strict=True))
            for rank in taken
        ]
        worst = max(ratios) if name == WATCH else worst
        rows.append((name, *(f"{ratio:.3f}" for ratio in ratios)))
    verdict = "met" if worst <= LIMIT else "NOT met"
    return Table(
        columns=("tool", "rank 0", "rank 1"),
        rows=rows,
        title="Two processes (DDP): what a watched step costs",
        notes=(
            f"cost: CPU time over that of the bare step next to it, median of {ROUNDS} rounds",
            f"limit for the watch {LIMIT}: {verdict} ({worst:.3f} at worst)",
        ),
    )


def main() -> None:
    quiet_libraries()
    torch.set_num_threads(1)
    if not dist.is_torchelastic_launched():
        print(compare())
        return
    warnings.simplefilter("ignore")  # detect_anomaly says that it is for debugging
    dist.init_process_group("gloo")
    folder = Path(sys.argv[1])
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps(measure(folder / "watched")))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
