"""The model is far better on data it has never seen than on what it is trained on. Leak?

The training loss is several times the eval_loss (0.05 half-way, 0.01). Training and evaluation
tickets are drawn with different seeds and I have checked that they do not overlap. It is a small
BERT with strong regularization against our noisy tickets.

Source: "eval loss lower than train loss", a standing question of forums; rebuilt here.
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

from benchmarks.diagnostics.blind.round_1 import kit

TEAMS = sorted(kit.TEAMS)


def rows(tok, seed, n):
    found = [(dict(tok(t)), TEAMS.index(team)) for t, team in kit.tickets(seed, n)]
    return Dataset.from_list([row | {"labels": label} for row, label in found])


def make(folder, healthy=True):
    tok = kit.tokenizer()
    torch.manual_seed(26)
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=len(TEAMS),
        pad_token_id=tok.pad_token_id,
        hidden_dropout_prob=0.3,
        classifier_dropout=0.5,
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=300),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        eval_strategy="steps",
        eval_steps=50,
    )
    return Trainer(
        model=BertForSequenceClassification(config),
        args=args,
        train_dataset=rows(tok, 1, 2400),
        eval_dataset=rows(tok, 2, 200),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    tok, model = trainer.processing_class, trainer.model.eval()
    test = [(tok(t, return_tensors="pt")["input_ids"], team) for t, team in kit.tickets(3, 200)]
    hits = [TEAMS[int(model(input_ids=ids).logits.argmax())] == team for ids, team in test]
    return sum(hits) / len(hits)
