"""The models and the batch that the checks of lesson 05 look at."""

import copy
import functools

import torch
from torch import nn

from course_utils.reproductions.gemma_dpo import load_gemma

SUMS = torch.arange(60).remainder(47).reshape(3, 20) + 11  # token ids; any will do
BATCH = {"input_ids": SUMS, "attention_mask": torch.ones_like(SUMS)}
LARGEST_LOGIT = 28.0


@functools.cache
def _loaded(stretch: float | None) -> nn.Module:
    return load_gemma(stretch=stretch, device="cpu")


def plain() -> nn.Module:
    """A fresh copy of the tiny Gemma as it was trained."""
    return copy.deepcopy(_loaded(1))


def sick() -> nn.Module:
    """A fresh copy of the stand-in for the large Gemma."""
    return copy.deepcopy(_loaded(None))


@torch.no_grad()
def logits_of(model: nn.Module) -> torch.Tensor:
    return model(**BATCH).logits.float()


def half_precision():
    return torch.autocast("cpu", dtype=torch.float16)


def furthest(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest difference; nan counts as inf."""
    return (got - want).abs().nan_to_num(nan=float("inf")).max().item()
