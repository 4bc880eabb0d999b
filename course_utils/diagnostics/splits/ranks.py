"""Makes a Trainer in one process believe that it is one of several. Computes nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from course_utils.diagnostics.libraries.trainer import states_of_processes


@contextmanager
def believing_in(num_ranks: int) -> Iterator[None]:
    """In the block, Trainer, Accelerator, PartialState and WORLD_SIZE say `num_ranks`.

    Nothing is sent: what a collective would give, the caller has to compute.
    """
    known = states_of_processes()
    before = [state.get("num_processes") for state in known]
    in_environment = os.environ.get("WORLD_SIZE")
    try:
        os.environ["WORLD_SIZE"] = str(num_ranks)
        for state, was in zip(known, before, strict=True):
            if was is not None:
                state["num_processes"] = num_ranks
        yield
    finally:
        os.environ.pop("WORLD_SIZE")
        if in_environment is not None:
            os.environ["WORLD_SIZE"] = in_environment
        for state, was in zip(known, before, strict=True):
            if was is not None:
                state["num_processes"] = was
