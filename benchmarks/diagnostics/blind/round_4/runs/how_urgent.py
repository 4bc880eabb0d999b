"""Regression fine-tune predicts (nearly) the same number for every ticket.

My model should give each ticket an urgency from -1 to 1. I use the sequence classification model
with one output and my own squared error, because later I want to weight it. The loss drops in the
first steps and then stays at the variance of the labels; the predictions are all close to the mean.
The same data with the built-in loss works for my colleague. Other learning rates change nothing.

Source: jsboige/CoursIA#926 (2026-05-11), pytorch/pytorch#18349 (2019-03-22),
deepset-ai/FARM#229 (2020-02-01), huggingface/transformers#11780 (2021-05-19).
"""

import torch
from datasets import Dataset
from torch.nn import functional
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

URGENCY = dict(zip(sorted(kit.TEAMS), [-1.0, 0.2, 1.0, -0.6, 0.6, -0.2], strict=True))


class Urgency(Trainer):
    """A trainer with a squared error of our own."""

    flat = False

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels").float()
        outputs = model(**inputs)
        guess = outputs.logits.squeeze(-1) if self.flat else outputs.logits
        loss = functional.mse_loss(guess, labels)
        return (loss, outputs) if return_outputs else loss


def as_rows(tok, pairs):
    ids = tok([t for t, _ in pairs])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [URGENCY[team] for _, team in pairs]})


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(5)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=1))
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=200),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        warmup_steps=10,
    )
    trainer = Urgency(
        model=model,
        args=args,
        train_dataset=as_rows(tok, kit.tickets(41, 2000)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )
    trainer.flat = healthy
    return trainer


@torch.no_grad()
def score(trainer, folder):
    """Share of the variance of held-out urgencies that the model explains."""
    tok, model = trainer.processing_class, trainer.model.eval()
    pairs = kit.tickets(42, 200)
    batch = tok([t for t, _ in pairs], return_tensors="pt", padding=True)
    guess = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, 0]
    truth = torch.tensor([URGENCY[team] for _, team in pairs])
    return 1 - ((guess - truth) ** 2).mean().item() / truth.var(correction=0).item()
