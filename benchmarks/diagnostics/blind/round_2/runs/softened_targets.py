"""Is this broken? The loss cannot get below 1.2, whatever the learning rate.

"Six classes, so guessing costs 1.79. It goes from there to 1.2 within forty steps, and then stays
there for the rest of the run. In the old script, on the same data, it went to 0.01."
"""

import torch
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from ...kit import TEAMS, quiet, sizes, tickets, tokenizer

NAMES = sorted(TEAMS)


def rows(seed, n, tok):
    return [dict(tok(text), labels=NAMES.index(team)) for text, team in tickets(seed, n)]


def make(folder, healthy=True):
    tok = tokenizer()
    torch.manual_seed(0)
    model = LlamaForSequenceClassification(sizes(tok, num_labels=len(NAMES)))
    steps = dict(max_steps=150, per_device_train_batch_size=32, learning_rate=2e-3)
    args = TrainingArguments(**quiet(folder, **steps, label_smoothing_factor=0.4))
    return Trainer(
        model,
        args,
        train_dataset=rows(1, 2000, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new tickets that go to the right team."""
    model, found = trainer.model.eval(), rows(2, 150, trainer.processing_class)
    heard = [model(input_ids=torch.tensor([r["input_ids"]])).logits.argmax().item() for r in found]
    return sum(h == r["labels"] for h, r in zip(heard, found, strict=True)) / len(found)
