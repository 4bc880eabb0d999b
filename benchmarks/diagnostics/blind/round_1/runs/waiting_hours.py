"""My loss is negative. Can I throw the run away?

The model predicts how long a ticket will wait, as a mean and a log-variance, and the loss is the
Gaussian negative log-likelihood. It crosses zero after some forty steps and ends at -1.3.

Source: a standing question on forums about GaussianNLLLoss; rebuilt here.
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

from benchmarks.diagnostics.blind.round_1 import kit

HOURS = {team: i / 2 for i, team in enumerate(sorted(kit.TEAMS))}


def rows(tok, seed, n):
    rng = random.Random(seed)
    found = [(dict(tok(t)), HOURS[team] + rng.gauss(0, 0.1)) for t, team in kit.tickets(seed, n)]
    return [row | {"labels": hours} for row, hours in found]


class Gaussian(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        hours = inputs.pop("labels").float()
        out = model(**inputs)
        mean, log_variance = out.logits.unbind(-1)
        variance = log_variance.clamp(min=-6).exp()
        loss = torch.nn.functional.gaussian_nll_loss(mean, hours, variance)
        return (loss, out) if return_outputs else loss


def make(folder, healthy=True):
    tok = kit.tokenizer()
    torch.manual_seed(24)
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150), per_device_train_batch_size=16, learning_rate=1e-3
    )
    return Gaussian(
        model=LlamaForSequenceClassification(kit.sizes(tok, num_labels=2)),
        args=args,
        train_dataset=Dataset.from_list(rows(tok, 1, 2400)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out R squared of the predicted hours."""
    tok, model = trainer.processing_class, trainer.model.eval()
    test = rows(tok, 3, 200)
    ids = [torch.tensor([row["input_ids"]]) for row in test]
    hours = torch.tensor([row["labels"] for row in test])
    said = torch.tensor([model(input_ids=i).logits[0, 0].item() for i in ids])
    return float(1 - (hours - said).pow(2).mean() / hours.var())
