"""A triplet loss on sentence embeddings is nan after some steps, with no inf before it.

"The loss is 0.3, 0.2, then nan for ever. No fp16, gradients are clipped, learning rate is small.
anomaly mode says that SqrtBackward0 returned nan values."
After https://github.com/huggingface/sentence-transformers/pull/4033 (2026).
"""

import random

import torch
from torch import nn
from transformers import LlamaModel, Trainer, TrainingArguments

from ...kit import TEAMS, quiet, sizes, ticket, tokenizer


def triplets(seed, n, same=0.0):
    """Anchor and positive are of one team; `same` of the positives repeat the anchor."""
    rng, found = random.Random(seed), []
    for _ in range(n):
        team, other = rng.sample(sorted(TEAMS), 2)
        anchor = ticket(rng, team, 5)[0]
        near = anchor if rng.random() < same else ticket(rng, team, 5)[0]
        found.append(dict(anchor=anchor, near=near, far=ticket(rng, other, 5)[0]))
    return found


class Embedder(nn.Module):
    """The mean of the last hidden states."""

    def __init__(self, tok):
        super().__init__()
        torch.manual_seed(0)
        self.body = LlamaModel(sizes(tok))

    def forward(self, input_ids):
        return self.body(input_ids=input_ids).last_hidden_state.mean(1)


class TripletTrainer(Trainer):
    """Euclidean distances with a margin."""

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        anchor, near, far = (model(inputs[k]) for k in ("anchor", "near", "far"))
        to_near = (anchor - near).pow(2).sum(-1).sqrt()
        to_far = (anchor - far).pow(2).sum(-1).sqrt()
        loss = torch.relu(to_near - to_far + 1.0).mean()
        return (loss, anchor) if return_outputs else loss


def make(folder, healthy=False):
    tok = tokenizer()
    data = triplets(1, 1500, same=0.002)
    if healthy:
        data = [row for row in data if row["anchor"] != row["near"]]

    def collate(batch):
        names = ("anchor", "near", "far")
        return {n: torch.tensor([tok(row[n])["input_ids"] for row in batch]) for n in names}

    steps = dict(max_steps=150, per_device_train_batch_size=16, learning_rate=3e-3)
    args = TrainingArguments(**quiet(folder, **steps, remove_unused_columns=False))
    return TripletTrainer(
        Embedder(tok), args, train_dataset=data, data_collator=collate, processing_class=tok
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new triplets whose positive is nearer than the negative."""
    tok, model, right = trainer.processing_class, trainer.model.eval(), 0
    rows = triplets(2, 150)
    for row in rows:
        a, near, far = (model(torch.tensor([tok(row[n])["input_ids"]])) for n in row)
        right += bool((a - near).norm() < (a - far).norm())
    return right / len(rows)
