"""Two processes that end in every way a run can: the argument says how.

torchrun --nproc-per-node 2 endings.py well|late|raises|crashes
"""

import faulthandler
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist

NEVER_S = 600


def data_that_never_comes():
    time.sleep(NEVER_S)


def step(number):
    dist.all_reduce(torch.ones(1))
    print(f"step {number}", flush=True)


def main(how):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    step(1)
    if how == "late" and rank == 1:
        # A process that outlives its rank, as a data loader's worker can.
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({NEVER_S})"])
        data_that_never_comes()
    if how == "raises" and rank == 1:
        raise ValueError("batch 4 of rank 1 is empty")
    if how == "crashes" and rank == 1:
        faulthandler._sigsegv()
    step(2)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1])
    os._exit(0)
