"""The files that one rank writes while it is watched: a small record, and the step that broke.

The folder is the only way by which ranks tell anything: nobody waits for anybody. A record is JSON,
a dump is what `torch.load(weights_only=True)` reads.
"""

import json
import os
import random
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from course_utils.diagnostics.libraries.pytorch import COMPILED
from course_utils.diagnostics.ranks.own_gradient import local


@dataclass
class Record:
    """One rank's record of the run; `what` is "" until something was not finite."""

    rank: int
    world: int
    state: str = "watching"  # "watching", "ended" or "raised"
    num_steps: int = 0
    step: int | None = None  # of what was found, counted from 1
    micro_batch: int | None = None  # None: one of several, and the bucket holds their sum
    what: str = ""  # "loss", "gradient", "weights before the step", "another rank"
    losses: list[float] = field(default_factory=list)
    num_losses: int = 0  # micro-batches seen in all
    num_foreign: int = 0  # steps of optimizers that hold none of these parameters
    bad_weights: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    dump: str = ""  # its file name
    how: str = ""  # the rank's own gradient was looked at
    problem: str = ""  # what the watch could not do
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    time: float = field(default_factory=time.time)

    def write(self, folder: Path) -> None:
        """Write atomically: a reader, or a kill, may come at any time."""
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f".rank{self.rank}.json.new"
        new.write_text(json.dumps(asdict(self), indent=1))
        new.replace(folder / f"rank{self.rank}.json")


def read_records(folder: Path) -> list[Record]:
    """The records of the last run that wrote here, by rank."""
    found = [Record(**json.loads(file.read_text())) for file in folder.glob("rank*.json")]
    if not found:
        return []
    world = max(found, key=lambda record: record.time).world
    return sorted((r for r in found if r.world == world), key=lambda record: record.rank)


def bare_name(name: str) -> str:
    """A parameter's name without the prefixes of DDP and torch.compile.

    >>> bare_name("module._orig_mod.score.weight")
    'score.weight'
    """
    return name.replace(f"{COMPILED}.", "").removeprefix("module.")


def plain(value: Any, left_out: list[str], path: str = "batch") -> Any:
    """The data in types that torch can load without running code; others are left out.

    >>> left_out = []
    >>> plain({"ids": (1, 2), "image": object()}, left_out), left_out
    ({'ids': (1, 2), 'image': None}, ['batch.image'])
    """
    if isinstance(value, Tensor):
        return local(value.detach()).cpu().clone()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return torch.from_numpy(value.copy())
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], left_out, f"{path}.{key}") for key in value}
    if isinstance(value, list | tuple):
        items = [plain(item, left_out, f"{path}[{i}]") for i, item in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items
    if value is None or isinstance(value, str | int | float | bool):
        return value
    left_out.append(path)
    return None


def random_states(surroundings: Any) -> dict[str, Any]:
    """Random number states in plain types; see `set_random_states`."""
    version, numbers, gauss = surroundings.python_rng
    name, keys, *rest = surroundings.numpy_rng
    return {
        "torch": surroundings.cpu_rng.clone(),
        "cuda": {str(device): state.cpu() for device, state in surroundings.cuda_rng.items()},
        "python": [version, list(numbers), gauss],
        "numpy": [name, torch.from_numpy(keys.astype(np.int64)), *rest],
    }


def set_random_states(states: dict[str, Any]) -> None:
    torch.set_rng_state(states["torch"])
    for device, state in states["cuda"].items():
        if torch.cuda.is_available():
            torch.cuda.set_rng_state(state, device)
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, *rest = states["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))


def frozen_sums(model: nn.Module) -> dict[str, float]:
    """A sum per frozen weight, by which a replay checks that it has the same weights."""
    frozen = {n: local(p) for n, p in model.named_parameters() if not p.requires_grad}
    sums = [p.detach().double().sum().cpu() for p in frozen.values()]
    values = torch.stack(sums).tolist() if sums else []
    return dict(zip(map(bare_name, frozen), values, strict=True))
