"""One step of several Trainers on two real processes, and the learning rate of a schedule.

    python -m course_utils.reproductions.lesson_08.two_ranks FILE SEED WHAT ...

Each WHAT is the "module:name" of a Trainer, or of a compute_loss, and the rows of a micro-batch:
"transformers:Trainer,4"; ",local" behind it counts on each rank alone. FILE gets a dict with a
gradient and a logged loss for each, and "lr", the learning rates of twelve steps. SEED draws the
rows. Micro-batches go to the ranks in turn.

The processes are those of torchrun, with its environment. They part only after the imports, which
would else take five seconds of each and of the launcher.
"""

import importlib
import os
import socket
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import nn
from transformers import get_linear_schedule_with_warmup

from course_utils.diagnostics import run_in_child
from course_utils.diagnostics.splits.stepping import Split
from course_utils.errors import Unsupported
from course_utils.reproductions.lesson_08.batch_loss import Row, first_step, mixed_rows
from course_utils.reproductions.lesson_08.batch_trainers import with_loss

NUM_RANKS, NUM_LR_STEPS = 2, 12
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
        autopsy = run_in_child(command, timeout_s=400)
        if not found.exists():
            raise Unsupported(
                f"the two processes wrote nothing: {autopsy.headline}",
                why="two ranks are measured with gloo, on this machine",
                fix="read the lines above; `course doctor` says what is missing",
            )
        return torch.load(found)


def dealt(rows: Sequence[Row], size: int, num_ranks: int = NUM_RANKS) -> Split:
    """The rows of each rank as a Trainer distributes them: micro-batches in turn."""
    micro = [list(rows[at : at + size]) for at in range(0, len(rows), size)]
    return [micro[rank::num_ranks] for rank in range(num_ranks)]


def by_length(seed: int = 0) -> list[Row]:
    """The mixed rows with the short ones first."""
    return sorted(mixed_rows(seed), key=lambda row: len(row["labels"]))


def one_step(what: str, seed: int) -> Outcome:
    name, size, *local = what.split(",")
    module, _, cls = name.partition(":")
    trainer, size = getattr(importlib.import_module(module), cls), int(size)
    trainer = trainer if isinstance(trainer, type) else with_loss(trainer)
    rows = by_length(seed)
    accumulation = len(rows) // NUM_RANKS // size
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


def part() -> int:
    """Become two processes, each with torchrun's environment; returns which one it is."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    rank = int(os.fork() == 0)
    told = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "WORLD_SIZE": NUM_RANKS,
        "LOCAL_WORLD_SIZE": NUM_RANKS,
    }
    told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in told.items()})
    return rank


def main(file: str, seed: str, *what: str) -> None:
    rank = part()
    torch.set_num_threads(1)
    found: Outcome = {one: one_step(one, int(seed)) for one in what}
    found["lr"] = {prepared: learning_rates(prepared=prepared) for prepared in (True, False)}
    if rank == 0:
        found["processes"] = torch.distributed.get_world_size()
        torch.save(found, file)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
