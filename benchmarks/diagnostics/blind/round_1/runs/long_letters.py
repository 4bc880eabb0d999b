"""Fine-tuning RoBERTa dies somewhere in the first epoch, not always at the same step.

IndexError: index out of range in self, from torch.embedding. On the GPU it was a device-side
assert that told me nothing, so I went to the CPU. The vocabulary is right (largest id in the data
is below vocab_size) and the labels are 0..5. I truncate to what the config says that the model can
take. With another seed it runs a little longer before it dies.

Source: huggingface/transformers#14243 (2021-11-02), NVIDIA/garak#1714 (2026-04-23).
"""

import random

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    RobertaConfig,
    RobertaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind.round_1 import kit

TEAMS = sorted(kit.TEAMS)


def letters(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        text, team = kit.ticket(rng, length=60 if rng.random() < 0.02 else rng.randint(6, 20))
        yield text, TEAMS.index(team)


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(9)
    config = RobertaConfig(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=50,
        type_vocab_size=1,
        num_labels=len(TEAMS),
        pad_token_id=tok.pad_token_id,
    )
    room = config.max_position_embeddings - (config.pad_token_id + 1 if healthy else 0)
    rows = [
        tok(text, truncation=True, max_length=room, return_token_type_ids=True) | {"labels": label}
        for text, label in letters(3, 1500)
    ]
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150), per_device_train_batch_size=16, learning_rate=2e-3
    )
    return Trainer(
        model=RobertaForSequenceClassification(config),
        args=args,
        train_dataset=Dataset.from_list([dict(row) for row in rows]),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy; a run that died has none."""
    tok, model, hits = trainer.processing_class, trainer.model.eval(), []
    for text, label in letters(4, 200):
        ids = tok(text, return_tensors="pt", truncation=True, max_length=48)["input_ids"]
        hits.append(int(model(input_ids=ids).logits.argmax()) == label)
    return sum(hits) / len(hits)
