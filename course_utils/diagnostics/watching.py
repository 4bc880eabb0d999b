"""`watch` for users: one function for a run in one process and for a run under a launcher."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from course_utils.diagnostics import nonfinite, ranks

if TYPE_CHECKING:
    from course_utils.diagnostics.nonfinite.watching import Watch
    from course_utils.diagnostics.ranks.watching import RankWatch


def watch(
    target: Any,
    loss_of: Callable[..., Any] | None = None,
    *,
    scaler: Any = None,
    then: Callable[[Any], object] = print,
) -> "Watch | RankWatch":
    """Watch a run; at the first step that is not finite, name what is to blame.

    In one process this is `nonfinite.watch`, which replays the step and names the operation. Under
    torchrun or `accelerate launch` it is `ranks.watch_ranks`, called on every rank: it names the
    rank, and dumps its step to ./watched-ranks for `replay_rank` to name the operation.

    Args:
        target: a Trainer, or the model that a loop of your own trains.
        loss_of: for a loop whose loss the model does not return: the function that gives it.
        scaler: the gradient scaler of such a loop, if it has one. A Trainer's is found.
        then: is called once, with the report of the first fault.

    Raises:
        BadRequest: no model, function or Trainer.
    """
    several = torch.distributed.is_available() and torch.distributed.is_initialized()
    if several and torch.distributed.get_world_size() > 1:
        return ranks.watch_ranks(target, loss_of, scaler=scaler, then=then)
    return nonfinite.watch(target, loss_of, scaler=scaler, then=then)
