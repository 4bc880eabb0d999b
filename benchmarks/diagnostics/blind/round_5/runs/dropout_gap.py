"""Validation loss is far below the training loss at every evaluation.

A small BERT classifier with a lot of dropout, since we have few tickets. The validation loss is
half of the training loss or less from the second evaluation on. A reviewer says that there must
be a leak between the two files. There is none.

Source: rebuilt, no thread.
"""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_5.runs.big_file import rows


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(18)
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.3,
        attention_probs_dropout_prob=0.1,
        classifier_dropout=0.5,
        num_labels=6,
        pad_token_id=tok.pad_token_id,
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=320),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=40,
    )
    return Trainer(
        model=BertForSequenceClassification(config),
        args=args,
        train_dataset=rows(tok, 2, 1600),
        eval_dataset=rows(tok, 4, 200),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out accuracy."""
    found = trainer.predict(rows(trainer.processing_class, 3, 300))
    return float((found.predictions.argmax(-1) == found.label_ids).mean())
