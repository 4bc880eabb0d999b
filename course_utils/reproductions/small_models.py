"""The small classifier of lesson 06's snippets, and data for it. Never trains anything."""

import torch
from torch import Tensor, nn


def seeded(build):
    """Build with torch's random state set to 0 and put back after."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build()


class Classifier(nn.Module):
    """A body and a head: 4 features in, logits of 3 classes out."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def classifier() -> Classifier:
    """The classifier, the same at every call."""
    return seeded(Classifier)


def examples(num: int = 6) -> tuple[Tensor, Tensor]:
    """Features of shape (num, 4), and classes from 0 to 2 of shape (num,).

    >>> examples(4)[1]
    tensor([0, 1, 2, 0])
    """
    x = seeded(lambda: torch.randn(num, 4))
    return x, torch.arange(num) % 3
