"""Evaluation loss is far below the training loss.

My classifier is better on the evaluation rows than on the training rows: its loss is far
lower there in the same minute, and the training loss is noisy. I was told that this means that
evaluation rows are in the training set. I checked, they are not.

Source: rebuilt, no thread.
"""

import torch
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)


def as_rows(tok, pairs):
    ids = tok([t for t, _ in pairs])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [NAMES.index(n) for _, n in pairs]})


def make(folder, healthy=True):
    tok = kit.tokenizer()
    torch.manual_seed(20)
    size = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
    drop = dict(hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.1, classifier_dropout=0.5)
    ids = dict(vocab_size=len(tok), pad_token_id=tok.pad_token_id, num_labels=len(NAMES))
    model = BertForSequenceClassification(BertConfig(**size, **drop, **ids))
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=300),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=50,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=as_rows(tok, kit.tickets(181, 4000)),
        eval_dataset=as_rows(tok, kit.tickets(182, 200)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    tok, model, pairs = trainer.processing_class, trainer.model.eval(), kit.tickets(183, 200)
    batch = tok([t for t, _ in pairs], return_tensors="pt", padding=True)
    guess = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    truth = torch.tensor([NAMES.index(n) for _, n in pairs])
    return (guess.argmax(-1) == truth).float().mean().item()
