"""A run on two processes joined by gloo: the log of the first, or the error of either."""

from torch import nn

from course_utils.incidents.declare import Run
from course_utils.reproductions.lesson_07.batches import Batch
from course_utils.reproductions.two_processes import WORLD, Train, in_two_processes


def of_two_ranks(model: nn.Module, train: Train, batch: Batch, *, timeout_s: float = 30) -> Run:
    """The run of `train` in two forked processes; the model of this one stays as it is.

    Args:
        timeout_s: what a collective operation waits for the other process.
    """

    def start() -> None:
        ranks = in_two_processes(train, timeout_s)
        errors = [entry for log in ranks for entry in log if "error" in entry]
        run.log += errors[:1] or ranks[0]

    run = Run(model=model, start=start, parts={"batch": batch, "processes": WORLD})
    return run
