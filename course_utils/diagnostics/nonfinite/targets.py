"""What can be traced or watched: a model, a function, or a Hugging Face Trainer.

Brings each into one form: the modules by name, and a function from a batch to a loss.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.libraries.pytorch import is_compiled, run_eagerly, without_compile
from course_utils.diagnostics.nonfinite.batches import tensors_in
from course_utils.diagnostics.nonfinite.untouched import untouched
from course_utils.diagnostics.nonfinite.values import address_of, is_readable
from course_utils.errors import BadRequest, Unsupported


@dataclass(frozen=True)
class Target:
    """Named root modules ("" for the model itself) and the function that computes the loss."""

    roots: dict[str, nn.Module]
    loss_of: Callable[..., Any]
    trainer: Any = None
    compiled: tuple[nn.Module, ...] = ()  # what torch.compile put around a root

    @property
    def modules(self) -> list[nn.Module]:
        return list(self.roots.values())

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """In the block, the loss may be computed again, eagerly; afterwards no count differs."""
        owners = [self.trainer, getattr(self.trainer, "compute_loss_func", None), self.loss_of]
        modules = [module for root in self.modules for module in root.modules()]
        with untouched(*modules, *owners), run_eagerly():
            yield

    @property
    def max_length(self) -> int | None:
        """The length in tokens to which the Trainer truncates; None if it does not say."""
        return getattr(getattr(self.trainer, "args", None), "max_length", None)

    @property
    def is_compiled(self) -> bool:
        """Whether the run's numbers come from a compiled model: eager ones differ a little."""
        outer = [*self.modules, getattr(self.trainer, "model_wrapped", None), *self.compiled]
        return any(is_compiled(module) for module in outer if module is not None)


def open_target(target: Any, loss_of: Callable[..., Any] | None = None) -> Target:
    """Convert a model, a function or a Trainer to one form.

    Raises:
        BadRequest: `target` is none of the three.
        Unsupported: more than one process; a replay on one alone would wait for the others.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        _refuse_many_processes(torch.distributed.get_world_size())
    if isinstance(target, nn.Module):
        root = without_compile(target)  # names without its prefix
        compiled = () if root is target else (target,)
        call = loss_of or partial(call_model, target)
        return Target({"": root}, call, compiled=compiled)
    if hasattr(target, "compute_loss") and hasattr(target, "model"):
        return Target(_modules_of(target), target.compute_loss, trainer=target)
    if callable(target):
        return Target({}, target)
    raise BadRequest(
        f"{type(target).__name__} is no model, function or Trainer",
        why="something has to turn a batch into a loss",
        fix="pass an nn.Module, a function of the batch, or a transformers Trainer",
    )


def _refuse_many_processes(world_size: int) -> None:
    if world_size > 1:
        raise Unsupported(
            f"this run has {world_size} processes",
            why="the replay of a step on one of them would wait for the others for ever",
            fix="use diagnostics.watch on every rank, then replay_rank on the step it dumped",
        )


def _modules_of(trainer: Any) -> dict[str, nn.Module]:
    found = {k: v for k, v in vars(trainer).items() if isinstance(v, nn.Module)}
    others = {k: v for k, v in found.items() if v is not trainer.model and k != "model_wrapped"}
    return {"": trainer.model, **others}


def call_model(model: nn.Module, *args, **kwargs) -> Any:
    """The model's output for a batch, or for arguments as the model itself takes them."""
    if kwargs or len(args) != 1:
        return model(*args, **kwargs)
    (batch,) = args
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(*batch) if isinstance(batch, tuple | list) else model(batch)


def loss_in(output: Any) -> Tensor | None:
    """The scalar loss in the result of a model or function, if there is one."""
    if isinstance(output, Mapping):
        output = output.get("loss")
    elif isinstance(output, tuple):  # (loss, logits), as with return_dict=False
        output = output[0] if output else None
    elif not isinstance(output, Tensor):
        output = getattr(output, "loss", None)
    return output if isinstance(output, Tensor) and output.numel() == 1 else None


def name_tensors(batch: Any) -> dict[int, str]:
    """Storage address -> name of each tensor of the batch.

    >>> list(name_tensors({"labels": torch.zeros(2)}).values())
    ['labels']
    """
    return {address_of(tensor): name for name, tensor in tensors_in(batch) if is_readable(tensor)}
