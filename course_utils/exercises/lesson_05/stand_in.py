"""The models and the batch that the checks of lesson 05 use."""

import copy
import functools

import torch
from torch import nn

from course_utils import zoo
from course_utils.reproductions.lesson_05.gemma_dpo import load_gemma

SUMS = torch.arange(60).remainder(47).reshape(3, 20) + 11  # token ids; any will do
BATCH = {"input_ids": SUMS, "attention_mask": torch.ones_like(SUMS)}
LARGEST_LOGIT = 28.0
PADDED = {
    "input_ids": SUMS[:2, :12],
    "attention_mask": (torch.arange(12) >= torch.tensor([[0], [5]])).long(),  # on the left
}


@functools.cache
def _loaded(stretch: float | None) -> nn.Module:
    return load_gemma(stretch=stretch, device="cpu")


def plain() -> nn.Module:
    """A fresh copy of the tiny Gemma as it was trained."""
    return copy.deepcopy(_loaded(1))


def sick() -> nn.Module:
    """A fresh copy of the stand-in for the large Gemma."""
    return copy.deepcopy(_loaded(None))


def another() -> nn.Module:
    """A fresh copy of an untrained Gemma of another depth, with random gains and a large eps."""
    return copy.deepcopy(_untrained())


@functools.cache
def _untrained() -> nn.Module:
    config = copy.deepcopy(_loaded(1).config)
    config.layer_types = [*config.layer_types, *config.layer_types[:2]]
    config.num_hidden_layers, config.rms_norm_eps = len(config.layer_types), 1e-2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = type(_loaded(1))(config)
        for name, weight in model.named_parameters():
            if name.endswith("norm.weight"):
                nn.init.normal_(weight, std=0.5)
    return model.eval()


@functools.cache
def texts_of_the_lesson() -> dict[str, torch.Tensor]:
    """The padded batch in which the lesson measures, and two more like it."""
    tokenizer = zoo.load_tokenizer("tiny-gemma3")
    pairs = [p for seed in range(3) for p in zoo.arithmetic.preferences(16, seed, split="test")]
    chats = [p["prompt"] + p["chosen"] for p in pairs]
    texts = [tokenizer.apply_chat_template(chat, tokenize=False) for chat in chats]
    return dict(tokenizer(texts, padding=True, return_tensors="pt"))


@torch.no_grad()
def logits_of(model: nn.Module) -> torch.Tensor:
    return model(**BATCH).logits.float()


@torch.no_grad()
def logits_in_half(model: nn.Module) -> torch.Tensor:
    """Under float16 autocast."""
    with half_precision():
        return model(**BATCH).logits.float()


def half_precision(*, enabled: bool = True):
    return torch.autocast("cpu", dtype=torch.float16, enabled=enabled)


def furthest(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest difference; nan counts as inf."""
    return (got - want).abs().nan_to_num(nan=float("inf")).max().item()
