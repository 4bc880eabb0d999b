"""Is this broken? The loss goes through zero and on to -2.

"The model predicts the hours that a ticket will take, and how sure it is of that. I have never
seen a loss below zero; the learning rate does not matter."
"""

import random

import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaModel, Trainer, TrainingArguments

from ...kit import TEAMS, quiet, sizes, tickets, tokenizer

NAMES = sorted(TEAMS)


def rows(seed, n, tok):
    """Each team has its own time, give or take a little."""
    rng = random.Random(seed)
    return [
        dict(input_ids=tok(text)["input_ids"], hours=NAMES.index(team) / 5 + rng.gauss(0, 0.03))
        for text, team in tickets(seed, n)
    ]


class Estimator(nn.Module):
    """Mean and variance of the hours, and the likelihood of what was measured."""

    def __init__(self, tok):
        super().__init__()
        torch.manual_seed(0)
        self.body = LlamaModel(sizes(tok))
        self.head = nn.Linear(64, 2)

    def forward(self, input_ids, attention_mask=None, hours=None):
        mean, width = self.head(self.body(input_ids=input_ids).last_hidden_state.mean(1)).T
        variance = F.softplus(width) + 1e-4
        loss = None if hours is None else F.gaussian_nll_loss(mean, hours, variance)
        return dict(loss=loss, mean=mean, variance=variance)


def make(folder, healthy=True):
    tok = tokenizer()
    steps = dict(max_steps=200, per_device_train_batch_size=32, learning_rate=2e-3)
    args = TrainingArguments(**quiet(folder, **steps))
    return Trainer(Estimator(tok), args, train_dataset=rows(1, 2500, tok), processing_class=tok)


@torch.no_grad()
def score(trainer, folder):
    """Mean error on new tickets in hours; the noise alone makes 0.024, guessing the mean 0.3."""
    found = rows(2, 150, trainer.processing_class)
    ids = torch.tensor([row["input_ids"] for row in found])
    hours = torch.tensor([row["hours"] for row in found])
    return (trainer.model.eval()(input_ids=ids)["mean"] - hours).abs().mean().item()
