"""The forward passes of one step: what a rank keeps of each, and the dump that a replay reads."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.libraries.pytorch import tree_leaves, writes_to
from course_utils.diagnostics.nonfinite.state import Surroundings
from course_utils.diagnostics.nonfinite.values import all_finite
from course_utils.diagnostics.ranks.folder import (
    Record,
    bare_name,
    frozen_sums,
    plain,
    random_states,
)
from course_utils.diagnostics.ranks.own_gradient import local


@dataclass
class KeptPass:
    """One forward pass: the inputs of the loss, as references except for small states."""

    model: nn.Module  # as the loss function got it: wrapped
    args: list  # without the model
    kwargs: dict
    surroundings: Surroundings
    versions: list[tuple[Tensor, int]]  # a tensor that was written to since cannot be replayed
    loss: Tensor | None = None


@dataclass
class RankNumbers:
    """The numbers of one step, on the CPU."""

    losses: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    summed: list[float] = field(default_factory=list)


def all_are_finite(numbers: list[float]) -> bool:
    return all(map(math.isfinite, numbers))


def keep(model: nn.Module, args: tuple, kwargs: dict) -> KeptPass:
    """Note a pass before it runs. Containers are copied: a loss may pop from its batch."""
    own = [_shallow(a) for a in args if not isinstance(a, nn.Module)]
    options = {k: _shallow(v) for k, v in kwargs.items() if not isinstance(v, nn.Module)}
    tensors = [t for t in tree_leaves((own, options)) if isinstance(t, Tensor)]
    versions = [(t, writes_to(t)) for t in tensors if not t.is_inference()]
    return KeptPass(model, own, options, Surroundings.now([model]), versions)


def bad_weights(model: nn.Module) -> list[str]:
    """Weights that are not finite, by name; waits for the device."""
    named = {bare_name(name): local(p) for name, p in model.named_parameters()}
    return [name for name, p in named.items() if p.numel() and not all_finite(p)]


def write_dump(kept: list[KeptPass], record: Record, folder: Path, *, is_sharded: bool) -> None:
    """Everything a replay needs: the micro-batches of the step, and the weights that are trained.

    Frozen weights are those of the checkpoint: only a sum of each is written.
    """
    left_out: list[str] = []
    model = kept[-1].model
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
    dump = {
        "rank": record.rank,
        "world": record.world,
        "step": record.step,
        "micro_batch": record.micro_batch,
        "is_sharded": is_sharded,
        "weights": {bare_name(n): plain(p, left_out, n) for n, p in weights.items()},
        "frozen_sums": frozen_sums(model),
        "passes": [_plain_pass(one, left_out) for one in kept],
        "left_out": left_out,
    }
    name = f"rank{record.rank}-step{record.step}.pt"
    torch.save(dump, folder / f".{name}.new")
    (folder / f".{name}.new").replace(folder / name)
    record.dump = name
    record.write(folder)


def _plain_pass(one: KeptPass, left_out: list[str]) -> dict[str, Any]:
    names = {id(buffer): bare_name(name) for name, buffer in one.model.named_buffers()}
    return {
        "args": plain(one.args, left_out, "args"),
        "kwargs": plain(one.kwargs, left_out, "kwargs"),
        "random": random_states(one.surroundings),
        "buffers": {names[id(b)]: plain(v, left_out) for b, v in one.surroundings.buffers},
        "autocast": [
            [a.device_type, a.enabled, str(a.dtype).removeprefix("torch."), a.cache_enabled]
            for a in one.surroundings.autocasts
        ],
        "loss": float(one.loss),
        "was_changed": any(writes_to(tensor) != version for tensor, version in one.versions),
    }


def _shallow(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
