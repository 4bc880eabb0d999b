"""trainer.train() ends well, and the model that I get out of it is bad.

The evaluations during training are fine: error_rate falls from 0.7 to almost nothing. I keep the
best checkpoint and load it at the end, as one does. Then I run my test set with the model in
memory and the error rate is that of the beginning. I have checked the test set three times.

Source: huggingface/transformers#31142 (2024-05-30: "after 7h of training I realized").
"""

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind.round_1 import kit

TEAMS = sorted(kit.TEAMS)


def rows(tok, seed, n):
    encoded = [tok(t) | {"labels": TEAMS.index(team)} for t, team in kit.tickets(seed, n)]
    return Dataset.from_list([dict(row) for row in encoded])


def error_rate(predictions):
    wrong = predictions.predictions.argmax(-1) != predictions.label_ids
    return {"error_rate": float(wrong.mean())}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(10)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=len(TEAMS)))
    common = kit.quiet(folder, max_steps=120, save_strategy="steps")
    args = TrainingArguments(
        **common,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        eval_strategy="steps",
        eval_steps=15,
        save_steps=15,
        load_best_model_at_end=True,
        metric_for_best_model="error_rate",
        greater_is_better=False if healthy else None,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows(tok, 1, 1500),
        eval_dataset=rows(tok, 2, 200),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=error_rate,
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Accuracy on a test set of the model in memory after train()."""
    tok, model = trainer.processing_class, trainer.model.eval()
    test = [(tok(t, return_tensors="pt")["input_ids"], team) for t, team in kit.tickets(3, 200)]
    hits = [TEAMS[int(model(input_ids=ids).logits.argmax())] == team for ids, team in test]
    return sum(hits) / len(hits)
