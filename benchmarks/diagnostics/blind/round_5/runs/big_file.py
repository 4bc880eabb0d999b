"""Training loss is tiny and the test says that it knows one team only.

The export of our ticket system is too big for memory, so I stream it into the Trainer. The
training loss goes down to almost nothing, apart from a few bumps. On the test file nearly every
ticket is given to the same team. The same code on a sample loaded into memory was fine. Neither
more passes nor a lower rate helped.

Source: pytorch/vision#7818 (2023-08-09), mosaicml/streaming#419 (2023-09-07),
huggingface/trl#6351 (2026-07-13).
"""

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)


def base(tok, folder):
    """A small language model that knows which word belongs to which team."""
    notes = [
        (f"<|user|> {word} question", f"{team} team {word}")
        for team, words in kit.TEAMS.items()
        for word in words
    ]
    kit.teach(kit.llama(tok, seed=5), tok, notes * 4, steps=60).save_pretrained(f"{folder}/base")
    return f"{folder}/base"


def rows(tok, seed, n):
    found = kit.tickets(seed, n)
    ids = tok([t for t, _ in found])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [NAMES.index(team) for _, team in found]})


def export(tok):
    """The file as the ticket system writes it: one team's folder after the other."""
    return rows(tok, 2, 1920).sort("labels")


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(10)
    stream = export(tok).to_iterable_dataset()
    if healthy:
        stream = stream.shuffle(seed=3, buffer_size=1920)
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=180),
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        warmup_steps=10,
    )
    return Trainer(
        model=LlamaForSequenceClassification(kit.sizes(tok, num_labels=6)),
        args=args,
        train_dataset=stream,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out accuracy."""
    found = trainer.predict(rows(trainer.processing_class, 3, 300))
    return float((found.predictions.argmax(-1) == found.label_ids).mean())
