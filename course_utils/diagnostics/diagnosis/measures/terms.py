"""The terms of a loss, found in its graph: where it is a sum, each summand with its gradient.

A term's own node is what stands below additions and factors; the gradient that arrives there is its
weight. Nothing is computed again.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

SUMS = ("AddBackward", "SubBackward", "StackBackward", "CatBackward", "RsubBackward")
FACTORS = (
    *("MulBackward", "DivBackward", "NegBackward", "MeanBackward", "SumBackward", "ToCopyBackward"),
    *("ViewBackward", "SqueezeBackward", "UnsqueezeBackward", "CloneBackward", "SelectBackward"),
)
LOSSES = {  # operations that a loss has, and what a reader calls them
    "NllLoss": "a cross-entropy",
    "LogSoftmax": "a divergence or a log-likelihood",
    "MseLoss": "a squared error",
    "SmoothL1": "an absolute error",
    "BinaryCrossEntropy": "a binary cross-entropy",
    "LogSigmoid": "a log-sigmoid",
    "Softplus": "a softplus",
    "ClampMin": "a margin",
    "PowBackward": "a square",
    "LinalgVectorNorm": "a norm",
}
DEEP, MANY, FEW = 24, 12, 10  # nodes of a chain; terms; nodes below a term that are looked at
DISTANCE = 4  # of them from the term


@dataclass
class Terms:
    """The terms of one loss."""

    nodes: list[Any] = field(default_factory=list)
    has_constant: bool = False  # whether something is added that has no gradient
    weights: list[float] = field(default_factory=list)  # of each, once a backward pass has run
    turned: list[bool] = field(default_factory=list)  # whether a number below 0 arrived there

    @property
    def names(self) -> list[str]:
        return [name_of(node) for node in self.nodes]

    @contextmanager
    def weighed(self) -> Iterator[None]:
        """In the block, the largest gradient that arrives at each term is noted."""
        self.weights, self.turned = [0.0] * len(self.nodes), [False] * len(self.nodes)
        handles = [n.register_prehook(self._note(i)) for i, n in enumerate(self.nodes)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _note(self, index: int):
        def note(grads: tuple) -> None:
            for grad in (one for one in grads if one is not None):
                self.weights[index] = max(self.weights[index], float(grad.detach().abs().max()))
                self.turned[index] |= grad.numel() == 1 and float(grad) < 0

        return note

    def norms(self, loss: Tensor, weights: list[Tensor]) -> list[float]:
        """The norm of each term's own gradient on these weights."""
        return [self._norm(loss, weights, index) for index in range(len(self.nodes))]

    def _norm(self, loss: Tensor, weights: list[Tensor], index: int) -> float:
        def nothing(grads: tuple) -> tuple:
            return tuple(None if one is None else torch.zeros_like(one) for one in grads)

        others = [node for i, node in enumerate(self.nodes) if i != index]
        handles = [node.register_prehook(nothing) for node in others]
        try:
            grads = torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True)
        finally:
            for handle in handles:
                handle.remove()
        return float(sum(g.float().square().sum() for g in grads if g is not None)) ** 0.5


def terms_of(loss: Tensor) -> Terms:
    """The terms of a loss; one, where it is no sum.

    >>> x = torch.ones(2, requires_grad=True)
    >>> len(terms_of(x.exp().sum() + 0.5 * x.log().mean()).nodes)
    2
    """
    found = Terms()
    waiting = deque([(loss.grad_fn, 0)])
    while waiting and len(found.nodes) < MANY:
        node, depth = waiting.popleft()
        inner = [below for below, _ in node.next_functions if below is not None]
        if node.name().startswith(SUMS) and depth < DEEP:
            found.has_constant |= len(inner) < len(node.next_functions)
            waiting += [(below, depth + 1) for below in inner]
        elif node.name().startswith(FACTORS) and len(inner) == 1 and depth < DEEP:
            waiting.append((inner[0], depth + 1))
        elif not any(node is one for one in found.nodes):
            found.nodes.append(node)
    return found


def name_of(term: Any) -> str:
    """What kind of loss a term is, by the operations at its head; "" for none that is known."""
    waiting, seen = deque([(term, 0)]), 0
    while waiting and seen < FEW:
        node, depth = waiting.popleft()
        seen += 1
        for operation, name in LOSSES.items():
            if operation in node.name():
                return name
        if depth < DISTANCE:
            waiting += [(below, depth + 1) for below, _ in node.next_functions if below is not None]
    return ""
