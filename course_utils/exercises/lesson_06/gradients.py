"""What the exercises of lesson 06 look at: the gradients that a loss leaves in small models."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

NOTHING_YET = "there is no gradient to look at yet"
CUT = ("does not require grad", "does not have a grad_fn")

KNOWN_WARNINGS = (
    "None of the inputs have requires_grad",  # torch, of every cut that an answer leaves in
    "`(is_)?gradient_checkpointing",  # Transformers, of the name that TRL and users still give it
)


@contextmanager
def known_warnings_ignored() -> Iterator[None]:
    """Keep quiet about what the lesson is about, also where warnings are made errors."""
    with warnings.catch_warnings():
        for message in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        yield


def backward_fails(loss: object) -> str | None:
    """Run `loss.backward()`; None when it runs, else what was seen."""
    if not isinstance(loss, Tensor):
        return f"it returns a {type(loss).__name__}, where the loss is asked, a tensor"
    if loss.numel() != 1:
        return f"the loss has shape {tuple(loss.shape)}, where one number is asked"
    try:
        loss.backward()
    except RuntimeError as error:
        if not any(text in str(error) for text in CUT):
            raise
        return f"loss.backward() raises {str(error).splitlines()[0]!r}"
    return None


def names_without_gradient(module: nn.Module) -> list[str]:
    return [n for n, p in module.named_parameters() if p.grad is None or not p.grad.any()]


def names_with_gradient(module: nn.Module) -> list[str]:
    return [n for n, p in module.named_parameters() if p.grad is not None and p.grad.any()]


def gradients_differ(got: nn.Module, want: nn.Module, *, rtol: float = 1e-4) -> str | None:
    """Compare the gradients of two models of one shape; None where `want` has them, too."""
    for (name, mine), theirs in zip(got.named_parameters(), want.parameters(), strict=True):
        if theirs.grad is None:
            continue
        if mine.grad is None:
            return f"{name}.grad is None after backward()"
        if not torch.allclose(mine.grad, theirs.grad, rtol=rtol, atol=1e-6):
            seen, right = mine.grad.norm().item(), theirs.grad.norm().item()
            return f"{name}.grad has norm {seen:.4g}, the right gradient {right:.4g}"
    return None


def first(reports: Iterable[str | None]) -> str | None:
    """The first thing that was seen, if any."""
    return next((saw for saw in reports if saw), None)
