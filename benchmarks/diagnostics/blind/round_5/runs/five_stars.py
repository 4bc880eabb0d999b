"""Training dies in the first steps with an IndexError in cross entropy.

Our customers give one to five stars, I want to predict them from the text. Five classes, so
num_labels=5, labels straight from the column `stars`. On the GPU it is a device-side assert
with a useless traceback, on the CPU an IndexError in the loss. The texts are fine, I looked for
empty rows.

Source: TencentGameMate/gnn_cross_lingual#5 (2024-05-10), yangheng95/PyABSA#375 (2023-12-23),
ThilinaRajapakse/simpletransformers#748 (2020-10-03).
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

MOODS = {1: ["awful", "useless"], 2: ["poor", "slow"], 3: ["fair", "usual"], 4: ["good", "quick"]}
MOODS[5] = ["great", "perfect"]


def reviews(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        stars = rng.choice(sorted(MOODS))
        words = rng.choices(kit.FILLER, k=8)
        words[rng.randrange(8)] = rng.choice(MOODS[stars])
        yield {"text": " ".join(words), "stars": stars}


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=[w for words in MOODS.values() for w in words])
    rows = Dataset.from_list(list(reviews(2, 2000)))
    rows = rows.map(lambda r: tok(r["text"]), batched=True, remove_columns=["text"])
    if healthy:
        rows = rows.map(lambda r: {"stars": r["stars"] - 1})
    rows = rows.rename_column("stars", "labels")
    torch.manual_seed(8)
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        warmup_steps=10,
    )
    return Trainer(
        model=LlamaForSequenceClassification(kit.sizes(tok, num_labels=5)),
        args=args,
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of reviews with the right number of stars."""
    tok, test = trainer.processing_class, list(reviews(3, 300))
    ids = torch.tensor(tok([r["text"] for r in test])["input_ids"])
    with torch.no_grad():
        said = trainer.model.eval()(input_ids=ids).logits.argmax(-1) + 1
    return sum(int(s) == r["stars"] for s, r in zip(said, test, strict=True)) / len(test)
