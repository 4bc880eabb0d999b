"""Is this broken? The evaluation loss is half of the training loss or less, to the end.

"It should be the other way round. Did rows of the training set leak into the evaluation set?
I have compared them: no ticket is in both."
"""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from ...kit import TEAMS, quiet, tickets, tokenizer

NAMES = sorted(TEAMS)


def rows(seed, n, tok):
    return [dict(tok(text), labels=NAMES.index(team)) for text, team in tickets(seed, n, length=6)]


def make(folder, healthy=True):
    tok = tokenizer()
    torch.manual_seed(0)
    sizes = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2)
    drop = dict(hidden_dropout_prob=0.4, classifier_dropout=0.4)
    config = BertConfig(
        vocab_size=len(tok), num_attention_heads=4, num_labels=len(NAMES), pad_token_id=1,
        max_position_embeddings=64, **sizes, **drop,
    )  # fmt: skip
    steps = dict(max_steps=240, per_device_train_batch_size=32, learning_rate=2e-3)
    evaluate = dict(eval_strategy="steps", eval_steps=40, per_device_eval_batch_size=64)
    args = TrainingArguments(**quiet(folder, **steps, **evaluate))
    return Trainer(
        BertForSequenceClassification(config),
        args,
        train_dataset=rows(1, 3000, tok),
        eval_dataset=rows(2, 192, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new tickets that go to the right team."""
    model, found = trainer.model.eval(), rows(5, 150, trainer.processing_class)
    heard = [model(input_ids=torch.tensor([r["input_ids"]])).logits.argmax().item() for r in found]
    return sum(h == r["labels"] for h, r in zip(heard, found, strict=True)) / len(found)
