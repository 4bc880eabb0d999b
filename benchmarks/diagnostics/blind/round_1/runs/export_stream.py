"""Streaming the export: the model knows some words by heart, others not at all.

The export has 1600 tickets, I stream it because the real one does not fit into memory, and one
pass is 100 steps of 16. The loss goes down quickly. On a held-out set that is drawn from the same
export the accuracy stops far below what the loss promises, and the tickets it gets wrong use words
that it must have seen, I can grep them in the file. On my laptop the run is slower and the model
is better.

Source: huggingface/nanoVLM#203 (2026-04-06), huggingface/finetrainers#394 (2025-04-29),
huggingface/datasets#3423 (2021-12-13).
"""

import random

import torch
from torch.utils.data import IterableDataset, get_worker_info
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind.round_1 import kit

TEAMS = sorted(kit.TEAMS)


def export(seed, n):
    """Tickets in the order of the export: each quarter of it has its own words for the teams."""
    rng = random.Random(seed)
    for i in range(n):
        team = rng.choice(TEAMS)
        words = rng.choices(kit.FILLER, k=6)
        words[rng.randrange(6)] = kit.TEAMS[team][4 * i // n]
        yield " ".join(words), TEAMS.index(team)


class Export(IterableDataset):
    def __init__(self, tok, n, split):
        self.rows = [dict(tok(text)) | {"labels": label} for text, label in export(1, n)]
        self.split = split

    def __iter__(self):
        worker = get_worker_info()
        if worker is None or not self.split:
            return iter(self.rows)
        size = len(self.rows) // worker.num_workers
        return iter(self.rows[worker.id * size : (worker.id + 1) * size])


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(13)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=len(TEAMS)))
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=100),
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        dataloader_num_workers=4,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Export(tok, 1600, split=healthy),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy over all quarters of the export."""
    tok, model, hits = trainer.processing_class, trainer.model.eval(), []
    for text, label in export(2, 240):
        ids = tok(text, return_tensors="pt")["input_ids"]
        hits.append(int(model(input_ids=ids).logits.argmax()) == label)
    return sum(hits) / len(hits)
