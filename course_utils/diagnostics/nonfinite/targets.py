"""What can be traced or watched: a model, a function, or a Hugging Face Trainer.

Brings each into one form: the modules by name, and a function from a batch to a loss.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import keystr, tree_flatten_with_path

from course_utils.diagnostics.nonfinite.values import address_of, is_readable
from course_utils.errors import BadRequest, Unsupported

# What trl's trainers change in a step besides weights and gradients; a replay must not count twice.
TALLIES = ("_metrics", "_logs", "_total_train_tokens", "_buffered_inputs")


@dataclass(frozen=True)
class Target:
    """Named root modules ("" for the model itself) and the function that gives the loss."""

    roots: dict[str, nn.Module]
    loss_of: Callable[..., Any]
    trainer: Any = None

    @property
    def modules(self) -> list[nn.Module]:
        return list(self.roots.values())

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Inside, the trainer may count metrics; afterwards its counts are what they were."""
        counts = {k: copy.deepcopy(v) for k, v in self._state.items() if k in TALLIES}
        try:
            yield
        finally:
            self._state.update(counts)

    @property
    def _state(self) -> dict:
        return vars(self.trainer) if self.trainer is not None else {}


def open_target(target: Any, loss_of: Callable[..., Any] | None = None) -> Target:
    """Bring a model, a function or a Trainer into one form.

    Raises:
        BadRequest: `target` is none of the three.
        Unsupported: more than one process; a replay on one alone would wait for the others.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        _refuse_many_processes(torch.distributed.get_world_size())
    if isinstance(target, nn.Module):
        return Target({"": target}, loss_of or (lambda batch: _call_model(target, batch)))
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
            fix="run the failing batch in one process, or trace_step(model, batch) there",
        )


def _modules_of(trainer: Any) -> dict[str, nn.Module]:
    found = {k: v for k, v in vars(trainer).items() if isinstance(v, nn.Module)}
    others = {k: v for k, v in found.items() if v is not trainer.model and k != "model_wrapped"}
    return {"": trainer.model, **others}


def _call_model(model: nn.Module, batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(*batch) if isinstance(batch, tuple | list) else model(batch)


def loss_in(output: Any) -> Tensor | None:
    """The scalar loss in what a model or function returned, if there is one."""
    if isinstance(output, Mapping):
        output = output.get("loss")
    elif not isinstance(output, Tensor):
        output = getattr(output, "loss", None)
    return output if isinstance(output, Tensor) and output.numel() == 1 else None


def name_tensors(batch: Any) -> dict[int, str]:
    """Storage address -> name of each tensor of the batch.

    >>> list(name_tensors({"labels": torch.zeros(2)}).values())
    ['labels']
    """
    leaves, _ = tree_flatten_with_path(batch)
    return {
        address_of(leaf): keystr(path).replace("['", ".").replace("']", "").strip(".")
        for path, leaf in leaves
        if isinstance(leaf, Tensor) and is_readable(leaf)
    }
