"""Most labels were guessed by rules and weigh little in the loss; the model learns the guesses.

"Each row has a weight, 1 for what a person labelled and 0.02 for what the rules guessed. My
compute_loss multiplies by it. Setting all weights to 1 changes nothing, not even a digit."
After https://github.com/huggingface/transformers/issues/25054 and
https://github.com/huggingface/transformers/issues/43598 (2026).
"""

import random

import torch
import torch.nn.functional as F
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from ...kit import TEAMS, quiet, sizes, tickets, tokenizer

NAMES = sorted(TEAMS)


def rows(seed, n, tok, guessed=0.7):
    """The rules put most tickets to the next team in the list."""
    rng, found = random.Random(seed), []
    for text, team in tickets(seed, n):
        label, weight = NAMES.index(team), 1.0
        if rng.random() < guessed:
            label, weight = (label + 1) % len(NAMES), 0.02
        found.append(dict(tok(text), label=label, weight=weight))
    return found


class WeightedTrainer(Trainer):
    """Cross entropy in which each row counts by its weight."""

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        weight, labels = inputs.pop("weight", None), inputs.pop("labels")
        out = model(**inputs)
        each = F.cross_entropy(out.logits, labels, reduction="none")
        loss = each.mean() if weight is None else (each * weight).sum() / weight.sum()
        return (loss, out) if return_outputs else loss


def make(folder, healthy=False):
    tok = tokenizer()
    torch.manual_seed(0)
    model = LlamaForSequenceClassification(sizes(tok, num_labels=len(NAMES)))
    steps = dict(max_steps=150, per_device_train_batch_size=32, learning_rate=2e-3)
    args = TrainingArguments(**quiet(folder, **steps, remove_unused_columns=not healthy))
    data = Dataset.from_list(rows(1, 2500, tok))
    return WeightedTrainer(
        model,
        args,
        train_dataset=data,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new tickets, labelled by a person, that go to the right team."""
    model, found = trainer.model.eval(), rows(2, 150, trainer.processing_class, guessed=0.0)
    heard = [model(input_ids=torch.tensor([r["input_ids"]])).logits.argmax().item() for r in found]
    return sum(h == r["label"] for h, r in zip(heard, found, strict=True)) / len(found)
