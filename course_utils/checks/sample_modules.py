"""Small modules that exercises pass to an answer. They reveal nothing about a right one.

They have their own module because a class must be importable in the box, where no exercise is.
"""

import torch
from torch import nn
from torch.nn.functional import one_hot

INSIDE = 6  # the width inside `Counting`, which no tensor outside it has


class Times(nn.Module):
    """Multiplies by a known factor, so that every module's output is known beforehand."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x):
        return x * self.factor


class Block(nn.Module):
    """Computes 1 + up * down * x, so that a wrong sign shows."""

    def __init__(self, up: float, down: float) -> None:
        super().__init__()
        self.up, self.down = Times(up), Times(down)

    def forward(self, x):
        return 1 + self.down(self.up(x))


class Net(nn.Module):
    """Two blocks and a shift between them, with names as in a real model."""

    def __init__(self, factors: list[float]) -> None:
        super().__init__()
        self.stem = Times(factors[0])
        self.layers = nn.ModuleList([Block(*factors[1:3]), Block(*factors[3:5])])

    def forward(self, x, shift):
        return self.layers[1](self.layers[0](self.stem(x)) + shift)


class Adapted(nn.Module):
    """A frozen weight with a LoRA pair; B is zero until the first step."""

    def __init__(self, lora_B: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4), requires_grad=False)
        self.lora_A = nn.Parameter(torch.randn(2, 4))
        self.lora_B = nn.Parameter(torch.full((4, 2), lora_B))

    def forward(self, x):
        return x @ self.weight.T + x @ self.lora_A.T @ self.lora_B.T


class Counting(nn.Sequential):
    """A block that counts how often it runs."""

    def __init__(self) -> None:
        layers = nn.Linear(4, INSIDE), nn.Tanh(), nn.Dropout(0.5), nn.Linear(INSIDE, 2)
        super().__init__(*layers)
        self.num_calls = 0

    def forward(self, hidden):
        self.num_calls += 1
        return super().forward(hidden)


class Sure(nn.Module):
    """A model that is right about every example, by this many more logits."""

    def __init__(self, model, y, logits: float) -> None:
        super().__init__()
        self.model, self.y, self.logits = model, y, logits
        self.body, self.head = model.body, model.head

    def forward(self, x):
        found = self.model(x)
        right = one_hot(self.y[: len(x)], 3)  # an answer may leave examples out
        return 0 * found + self.logits * right.to(found.dtype)
