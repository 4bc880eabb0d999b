"""Calls a function in two forked processes that gloo joins, and gathers what each returned."""

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from course_utils.box.confine import end_with_parent

WORLD = 2
FORK = multiprocessing.get_context("fork")  # the libraries are imported already
Train = Callable[[int], list[dict]]  # from the rank, the log of its process


def in_two_processes(train: Train, timeout_s: float) -> list[list[dict]]:
    """What `train` returned in each process; of one that raised RuntimeError the error as an entry.

    Args:
        timeout_s: what a collective operation waits for the other process.

    Raises:
        EOFError: a process died of something else; its traceback is on stderr.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        pipes = [FORK.Pipe(duplex=False) for _ in range(WORLD)]
        processes = [
            FORK.Process(target=_rank, args=(train, rank, folder, timeout_s, sends))
            for rank, (_receives, sends) in enumerate(pipes)
        ]
        try:
            for process in processes:
                process.start()
            for _receives, sends in pipes:
                sends.close()  # so that a process that dies is an end of file, and no wait
            found = [receives.recv() for receives, _sends in pipes]
            for process in processes:
                process.join()
        finally:
            for process in processes:
                if process.is_alive():
                    process.kill()
                    process.join()
    return found


def _rank(train: Train, rank: int, folder: str, timeout_s: float, sends) -> None:
    end_with_parent()
    tempfile.tempdir = folder  # a forked process removes no folder of its own
    torch.set_num_threads(1)
    os.environ |= {"RANK": f"{rank}", "LOCAL_RANK": f"{rank}", "WORLD_SIZE": f"{WORLD}"}
    os.environ |= {"LOCAL_WORLD_SIZE": f"{WORLD}", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    dist.init_process_group(
        "gloo",
        init_method=f"file://{Path(folder, 'meet')}",
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
