"""One forward pass in training mode that leaves the model and its Trainer unchanged."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from course_utils.diagnostics.libraries.pytorch import forward_hooks
from course_utils.diagnostics.libraries.trainer import switch_checkpointing_on
from course_utils.diagnostics.nonfinite.state import Surroundings, set_gradients_aside
from course_utils.diagnostics.nonfinite.step import trainer_loss
from course_utils.diagnostics.nonfinite.targets import Target, loss_in, open_target
from course_utils.errors import BadRequest


def open_model(target: Any, loss_of: Any = None) -> Target:
    """The model or Trainer behind `target`, with its modules and the function to its loss.

    Raises:
        BadRequest: `target` is neither; a function alone has no modules to look into.
    """
    opened = open_target(target, loss_of)
    if not opened.roots:
        raise BadRequest(
            f"{getattr(target, '__name__', type(target).__name__)} is a function, not a model",
            why="the places are named by the modules of a model",
            fix="pass the model, and the function of the batch as loss_of=",
        )
    if opened.trainer is not None:
        return Target(opened.roots, trainer_loss(opened.trainer), trainer=opened.trainer)
    return opened


@contextmanager
def training_step(target: Target) -> Iterator[None]:
    """In the block, all is as in a training step; afterwards everything is as it was before.

    That is: attributes and hooks of each module, gradients, buffers, random numbers, the Trainer's
    metrics.
    """
    model = target.roots[""]
    hooks = [(held, dict(held)) for held in map(forward_hooks, model.modules())]
    before = Surroundings.now(target.modules)
    with (
        before.again(target.modules),
        target.undisturbed(),
        set_gradients_aside(list(model.parameters())),
    ):
        try:
            model.train()
            if target.trainer is not None:
                switch_checkpointing_on(target.trainer)
            yield
        finally:
            for present, before_it in hooks:
                present.clear()
                present.update(before_it)


def require_loss(output: Any) -> Tensor:
    """The scalar loss in the result of a model, a function or a Trainer.

    Raises:
        BadRequest: there is none.
    """
    loss = loss_in(output)
    if loss is None:
        fields = f" with {', '.join(output)}" if hasattr(output, "keys") else ""
        raise BadRequest(
            f"the batch gave a {type(output).__name__}{fields}, and no scalar loss",
            why="gradients start at a loss",
            fix='put "labels" into the batch, or pass loss_of=, a function of the batch',
        )
    return loss
