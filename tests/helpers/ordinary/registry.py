"""The list of ordinary runs; it never trains one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import Trainer, set_seed

ORDINARY: dict[str, "Run"] = {}


@dataclass(frozen=True)
class Run:
    """A healthy tiny run, and the public example whose settings it has, scaled down."""

    name: str
    source: str
    rises: str | None  # a logged number that rises; without one, the loss has to fall
    make_trainer: Callable[[Path], Trainer]

    def make(self, folder: Path) -> Trainer:
        """Return a fresh trainer that has not taken a step; the same seed each time."""
        set_seed(0)
        torch.set_num_threads(1)
        return self.make_trainer(folder)

    def train(self, trainer: Trainer) -> list[dict]:
        """Train as the example scripts do, and return the log."""
        trainer.train(resume_from_checkpoint=trainer.args.resume_from_checkpoint)
        return trainer.state.log_history

    @property
    def module(self) -> str:
        """Return the name of the module that declares the run: its task or its library."""
        return self.make_trainer.__module__.rpartition(".")[2]


def ordinary(name: str, *, source: str, rises: str | None = None):
    """Declare a function `make(folder)` as an ordinary run that is written from `source`."""

    def declare(make_trainer: Callable[[Path], Trainer]):
        assert name not in ORDINARY, f"two ordinary runs are called {name}"
        ORDINARY[name] = Run(name, source, rises, make_trainer)
        return make_trainer

    return declare
