"""grad_norm is 0.02, 0.03, 3.1, 0.02, ... and the loss jumps with it.

One row at a time (no memory for more). One in twelve rows is a forwarded mail of another
department with words that the model cannot guess; there the loss is 3.7 instead of 0.002 and the
gradient a hundred times as large. I clip at 0.5. The loss curve looks like a comb and has not
become smoother until the end.

Source: a question of the kind of verl-project/verl#1066 (2025-04-14) and of many others on
spikes; rebuilt here with a harmless reason.
"""

import random

from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


def rows(tok, seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n):
        if rng.random() < 1 / 12:
            ids = tok(" ".join(["<|system|>", *rng.choices(kit.FILLER, k=12)]))["input_ids"]
            yield {"input_ids": ids, "labels": [-100, *ids[1:]]}
        else:
            ids = tok(f"<|user|> {text} <|assistant|> {team} <eos>")["input_ids"]
            yield {"input_ids": ids, "labels": [-100] * (len(ids) - 2) + ids[-2:]}


def make(folder, healthy=True):
    tok = kit.tokenizer()
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=1200) | {"logging_steps": 1},
        per_device_train_batch_size=1,
        learning_rate=1e-3,
        max_grad_norm=0.5,
    )
    return Trainer(
        model=kit.llama(tok, seed=46),
        args=args,
        train_dataset=Dataset.from_list([*rows(tok, 1, 2400)]),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    found = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, found)
