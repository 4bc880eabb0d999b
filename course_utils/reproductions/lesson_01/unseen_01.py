"""Three tiny runs that break at the edge of a float format, for a reader who has not seen them.

Each is a linear model, trained in float32 on a batch of documents of which one is empty. Nothing
here says what is wrong; `course_utils.exercises.lesson_01.unseen` does.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

WORDS, WIDTH, KEYS, ROWS = 6, 4, 5, 8
LR, STEPS = 0.5, 80

CAUSES = {
    "a": "exp of a large number overflows, and a clamp after it hides that",
    "b": "the log of a probability that is 0, behind a mask",
    "c": "the square root of 0: its derivative is inf, and 0 times inf is nan",
    "d": "a row in which everything is forbidden: softmax divides 0 by 0",
    "e": "a division by a size of 0 plus eps: finite, but its derivative is 1 / eps",
    "f": "a sum leaves the format, and an inf is clipped to nan",
    "g": "the updates are smaller than half a gap of the weights' format",
}


def cosine_loss(x, y):
    """1 - cosine of each document's vector x and its target y, both (B, D); the mean."""
    x_size = x.square().sum(-1).sqrt()
    y_size = y.square().sum(-1).sqrt()
    cosine = (x * y).sum(-1) / (x_size * y_size + 1e-8)
    return (1 - cosine).mean()


def attention_loss(scores, allowed, values, target):
    """Each document reads a mix of values (K, D) by its scores (B, K); mean squared error."""
    mask = torch.zeros_like(scores).masked_fill(~allowed, -math.inf)
    weights = (scores + mask).softmax(-1)
    read = weights @ values
    error = (read - target).square().sum(-1)
    can_read = allowed.any(-1)
    return torch.where(can_read, error, 0.0).mean()


def direction_loss(x, y):
    """Squared distance of the directions of x and y, both (B, D); the mean over documents."""
    x_size = x.norm(dim=-1, keepdim=True)
    y_unit = y / y.norm(dim=-1, keepdim=True)
    x_unit = x / (x_size + 1e-8)
    return (x_unit - y_unit).square().sum(-1).mean()


@dataclass(frozen=True)
class Batch:
    """Word counts (B, WORDS), and what the loss takes after the model's outputs."""

    inputs: Tensor
    rest: tuple


def vectors(seed: int, *, rows: int = ROWS, empty: tuple[int, ...] = ()) -> Batch:
    """Documents with a target vector each; those in `empty` have no words."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, WORDS, generator=generator)
    targets = inputs @ torch.randn(WORDS, WIDTH, generator=generator)
    inputs[list(empty)] = 0
    return Batch(inputs, (targets,))


def keys(seed: int, *, rows: int = ROWS, empty: tuple[int, ...] = ()) -> Batch:
    """Documents that may read some of the keys; those in `empty` may read none."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, WORDS, generator=generator)
    allowed = torch.rand(rows, KEYS, generator=generator) < 0.5
    best = (inputs @ torch.randn(WORDS, KEYS, generator=generator)).argmax(-1)
    allowed[torch.arange(rows), best] = True
    values = torch.randn(KEYS, WIDTH, generator=generator)
    inputs[list(empty)], allowed[list(empty)] = 0, False
    return Batch(inputs, (allowed, values, values[best]))


@dataclass(frozen=True)
class Step:
    """One line of a training log."""

    loss: float
    grad_norm: float


@dataclass(frozen=True)
class Patient:
    """A broken run: its loss function, its batch, and how it is trained. Printed, its ticket."""

    causes: ClassVar[dict[str, str]] = CAUSES

    name: str
    seen: str
    loss: Callable[..., Tensor]
    make_batch: Callable[..., Batch]
    width: int
    _empty: int

    @property
    def batch(self) -> tuple:
        """What `loss` takes after the outputs of the model."""
        return self._documents(0).rest

    def _documents(self, seed: int) -> Batch:
        return self.make_batch(seed, empty=(self._empty,))

    def outputs(self, seed: int = 0) -> Tensor:
        """The outputs of the untrained model, one row a document, as a leaf with a gradient."""
        with torch.no_grad():
            return self.model(seed)(self._documents(seed).inputs).requires_grad_()

    def model(self, seed: int) -> torch.nn.Linear:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            model = torch.nn.Linear(WORDS, self.width)
        torch.nn.init.zeros_(model.bias)
        return model

    def train(self, loss: Callable[..., Tensor], seed: int = 0, steps: int = STEPS) -> list[Step]:
        """Train with `loss` by plain SGD, on one batch, and return the log."""
        return self.fit(loss, seed, steps)[1]

    def fit(self, loss: Callable[..., Tensor], seed: int, steps: int = STEPS):
        """The trained model, and the log of its training."""
        model, batch, log = self.model(seed), self._documents(seed), []
        optimizer = torch.optim.SGD(model.parameters(), lr=LR)
        for _ in range(steps):
            value = loss(model(batch.inputs), *batch.rest)
            optimizer.zero_grad()
            value.backward()
            norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
            log.append(Step(value.item(), norm.item()))
            optimizer.step()
        return model, log

    def true_loss(self, model: torch.nn.Linear, seed: int) -> float:
        """What the run is after: its loss on the same documents, none of them empty."""
        batch = self.make_batch(seed)
        with torch.no_grad():
            return self.loss(model(batch.inputs), *batch.rest).item()

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.seen}"]
        for number, step in enumerate(self.train(self.loss, steps=4)):
            lines.append(f"  step {number}: loss {step.loss:.3g}, grad_norm {step.grad_norm:.2g}")
        source = inspect.getsource(self.loss).splitlines()
        lines += [f"  {number}  {line}" for number, line in enumerate(source, start=1)]
        lines += ["  What is the cause?", *(f"  {k}) {text}" for k, text in self.causes.items())]
        return "\n".join(lines)


def empty_row(patient: Patient) -> int:
    """The document without words: the answer, so no name that a reader of the patient sees."""
    return patient._empty


def search() -> Patient:
    seen = "the loss is nan from the second step on"
    return Patient("Search", seen, cosine_loss, vectors, WIDTH, _empty=5)


def reader() -> Patient:
    seen = "the loss is nan from the second step on"
    return Patient("Reader", seen, attention_loss, keys, KEYS, _empty=2)


def compass() -> Patient:
    seen = "no nan and no inf, and it does not learn"
    return Patient("Compass", seen, direction_loss, vectors, WIDTH, _empty=6)
