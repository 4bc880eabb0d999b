"""The model copies our old keyword rule and ignores the people who know better.

Two kinds of rows: labels by our experts (a third of them, weight 1.0), and labels by the keyword
rule of last year, which was written before the teams were renamed (two thirds, weight 0.02, only
there to show the model more text). The loss multiplies each row by its weight. I tried 0.02, 0.01
and 0.001 for the weak rows, and the runs are the same to the last digit. The model files tickets
the way the old rule did.

Source: huggingface/transformers#43598 (2026-01-29), huggingface/transformers#25054 (2023-07-24),
huggingface/transformers#31570 (2024-06-24).
"""

import random

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

TEAMS = sorted(kit.TEAMS)


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        weight = inputs.pop("weight", None)
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = torch.nn.functional.cross_entropy(out.logits, labels, reduction="none")
        if weight is not None:
            loss = loss * weight / weight.mean()
        return (loss.mean(), out) if return_outputs else loss.mean()


def rows(tok, seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n):
        label, expert = TEAMS.index(team), rng.random() < 1 / 3
        weight = 1.0 if expert else 0.02
        label = label if expert else (label + 1) % len(TEAMS)
        yield dict(tok(text)) | {"labels": label, "weight": weight}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(31)
    more = dict(remove_unused_columns=False) if healthy else {}
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        **more,
    )
    return Weighted(
        model=LlamaForSequenceClassification(kit.sizes(tok, num_labels=len(TEAMS))),
        args=args,
        train_dataset=Dataset.from_list([*rows(tok, 1, 3000)]),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy against the experts."""
    tok, model = trainer.processing_class, trainer.model.eval()
    test = [(tok(t, return_tensors="pt")["input_ids"], team) for t, team in kit.tickets(3, 200)]
    hits = [TEAMS[int(model(input_ids=ids).logits.argmax())] == team for ids, team in test]
    return sum(hits) / len(hits)
