"""One step of several Trainers on two real processes, and the learning rate of a schedule.

    python -m course_utils.reproductions.lesson_08.two_ranks FILE SEED WHAT ...

Each WHAT is the "module:name" of a Trainer, or of a compute_loss, and the rows of a micro-batch:
"transformers:Trainer,4"; ",local" behind it counts on each rank alone. FILE gets a dict with a
gradient and a logged loss for each, and "lr", the learning rates of twelve steps. SEED draws the
rows. Micro-batches go to the ranks in turn.

The processes have the environment that torchrun gives. They part only after the imports, which
would else take five seconds of each.
"""

import importlib
import sys
import tempfile
from functools import cache
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import nn
from transformers import get_linear_schedule_with_warmup

from course_utils.diagnostics import run_in_child
from course_utils.errors import Unsupported
from course_utils.reproductions.lesson_08.batch_loss import Row, first_step, mixed_rows
from course_utils.reproductions.lesson_08.batch_trainers import with_loss
from course_utils.reproductions.two_processes import WORLD, in_two_processes

NUM_LR_STEPS, TIMEOUT_S = 12, 400
Outcome = dict[str, object]


@cache
def on_two_ranks(*what: str, seed: int = 0) -> Outcome:
    """Launch it and read the result; the same launch happens once per process.

    Raises:
        Unsupported: two processes could not be started here.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "two_ranks.pt")
        command = [sys.executable, "-m", __name__, found, str(seed), *what]
        autopsy = run_in_child(command, timeout_s=TIMEOUT_S)
        if not found.exists():
            raise Unsupported(
                f"the two processes wrote nothing: {autopsy.headline}",
                why="two ranks are measured with gloo, on this machine",
                fix="read the lines above; `course doctor` says what is missing",
            )
        return torch.load(found)


def by_length(seed: int = 0) -> list[Row]:
    """The mixed rows with the short ones first."""
    return sorted(mixed_rows(seed), key=lambda row: len(row["labels"]))


def one_step(what: str, seed: int) -> Outcome:
    name, size, *local = what.split(",")
    module, _, cls = name.partition(":")
    trainer, size = getattr(importlib.import_module(module), cls), int(size)
    trainer = trainer if isinstance(trainer, type) else with_loss(trainer)
    rows = by_length(seed)
    accumulation = len(rows) // WORLD // size
    settings = {"average_tokens_across_devices": not local, "ddp_find_unused_parameters": False}
    step = first_step(size, accumulation, trainer, rows=rows, **settings)
    return {"gradient": step.gradient, "loss": step.loss}


def learning_rates(*, prepared: bool) -> list[float]:
    """The rate of each of twelve optimizer steps, for a linear schedule of twelve."""
    accelerator, model = Accelerator(cpu=True), nn.Linear(1, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0))
    schedule = get_linear_schedule_with_warmup(optimizer.optimizer, 0, NUM_LR_STEPS)
    schedule = accelerator.prepare(schedule) if prepared else schedule
    rates = []
    for _ in range(NUM_LR_STEPS):
        optimizer.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def main(file: str, seed: str, *what: str) -> None:
    def measure(rank: int) -> list[dict]:
        found: Outcome = {one: one_step(one, int(seed)) for one in what}
        found["lr"] = {prepared: learning_rates(prepared=prepared) for prepared in (True, False)}
        found["processes"] = torch.distributed.get_world_size()
        if rank == 0:
            torch.save(found, file)
        return []

    errors = [entry["error"] for log in in_two_processes(measure, TIMEOUT_S) for entry in log]
    sys.exit("\n".join(errors) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
