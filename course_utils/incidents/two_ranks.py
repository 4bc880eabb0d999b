"""A function on two processes that gloo joins, and what each of them returned."""

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

WORLD = 2
FORK = multiprocessing.get_context("fork")  # the libraries are imported already


def on_two_ranks(function: Callable[[int], dict], *, timeout_s: float = 30) -> list[dict]:
    """Call `function(rank)` in two forked processes.

    Args:
        timeout_s: what a collective operation waits for the other process.

    Returns:
        For each rank what the function returned, which must be picklable; of one that raised
        RuntimeError the error alone, as the entry of a log.

    Raises:
        EOFError: a process died of something else; its traceback is on stderr.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        pipes = [FORK.Pipe(duplex=False) for _ in range(WORLD)]
        meet = f"file://{Path(folder, 'meet')}"
        processes = [
            FORK.Process(target=_rank, args=(function, rank, meet, timeout_s, sends))
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


def _rank(function: Callable, rank: int, meet: str, timeout_s: float, sends) -> None:
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
        sends.send(function(rank))
        dist.barrier()  # nobody leaves while the other still asks
    except RuntimeError as error:
        sends.send({"error": f"{type(error).__name__}: {error}"})
    finally:
        sends.close()
