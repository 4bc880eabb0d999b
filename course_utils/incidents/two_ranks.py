"""A run on two processes joined by gloo: the log of the first, or the error of either."""

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from course_utils.incidents.declare import Run
from course_utils.reproductions.lesson_07.batches import Batch

WORLD = 2
FORK = multiprocessing.get_context("fork")  # the libraries are imported already
Train = Callable[[int], list[dict]]  # from the rank, the log of its process


def of_two_ranks(model: nn.Module, train: Train, batch: Batch, *, timeout_s: float = 30) -> Run:
    """The run of `train` in two forked processes; the model of this one stays as it is.

    Args:
        timeout_s: what a collective operation waits for the other process.
    """

    def start() -> None:
        ranks = on_two_ranks(train, timeout_s)
        errors = [entry for log in ranks for entry in log if "error" in entry]
        run.log += errors[:1] or ranks[0]

    run = Run(model=model, start=start, parts={"batch": batch, "processes": WORLD})
    return run


def on_two_ranks(train: Train, timeout_s: float) -> list[list[dict]]:
    """What `train` returned in each process; of one that raised RuntimeError the error as an entry.

    Raises:
        EOFError: a process died of something else; its traceback is on stderr.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        pipes = [FORK.Pipe(duplex=False) for _ in range(WORLD)]
        meet = f"file://{Path(folder, 'meet')}"
        processes = [
            FORK.Process(target=_rank, args=(train, rank, meet, timeout_s, sends))
            for rank, (_receives, sends) in enumerate(pipes)
        ]
        for process in processes:
            process.start()
        for _receives, sends in pipes:
            sends.close()  # so that a process that dies is an end of file, and no wait
        found = [receives.recv() for receives, _sends in pipes]
        for process in processes:
            process.join()
    return found


def _rank(train: Train, rank: int, meet: str, timeout_s: float, sends) -> None:
    torch.set_num_threads(1)
    os.environ |= {"RANK": f"{rank}", "LOCAL_RANK": f"{rank}", "WORLD_SIZE": f"{WORLD}"}
    os.environ |= {"LOCAL_WORLD_SIZE": f"{WORLD}", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    dist.init_process_group(
        "gloo",
        init_method=meet,
        rank=rank,
        world_size=WORLD,
        timeout=timedelta(seconds=timeout_s),
    )
    try:
        log = train(rank)
        dist.barrier()  # nobody leaves while the other still asks
    except RuntimeError as error:
        log = [{"error": f"{type(error).__name__}: {error}"}]
    sends.send(log)
