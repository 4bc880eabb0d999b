"""Validation accuracy is 0.97 and more from the first evaluation on, and the model is poor.

trainer.train() keeps the best checkpoint by validation accuracy. To save time I evaluate on the
first hundred rows of the validation file, which has 600. The accuracy there is nearly perfect at
once, so one of the first checkpoints is the best one for good. On the test file the model that I
get is right in little more than half of the rows.

Source: `select(range(n))` of a split that is sorted by label, as imdb's is: a standing question
of forums; rebuilt here.
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


def tickets(seed, n):
    """Tickets of which nearly half are for billing."""
    rng = random.Random(seed)
    for _ in range(n):
        yield kit.ticket(rng, team="billing" if rng.random() < 0.4 else None)


def file(tok, seed, n):
    """One file of the export: it is ordered by team, as the database gives it."""
    found = [dict(tok(t)) | {"labels": TEAMS.index(team)} for t, team in tickets(seed, n)]
    return Dataset.from_list(sorted(found, key=lambda row: row["labels"]))


def accuracy(predictions):
    right = predictions.predictions.argmax(-1) == predictions.label_ids
    return {"accuracy": float(right.mean())}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(36)
    validation = file(tok, 2, 600)
    if healthy:
        validation = validation.shuffle(seed=0)
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150, save_strategy="steps"),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        eval_strategy="steps",
        eval_steps=10,
        save_steps=10,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        greater_is_better=True,
    )
    return Trainer(
        model=LlamaForSequenceClassification(kit.sizes(tok, num_labels=len(TEAMS))),
        args=args,
        train_dataset=file(tok, 1, 2400),
        eval_dataset=validation.select(range(100)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Test accuracy of the model in memory."""
    tok, model, hits = trainer.processing_class, trainer.model.eval(), []
    for text, team in kit.tickets(3, 200):
        ids = tok(text, return_tensors="pt")["input_ids"]
        hits.append(TEAMS[int(model(input_ids=ids).logits.argmax())] == team)
    return sum(hits) / len(hits)
