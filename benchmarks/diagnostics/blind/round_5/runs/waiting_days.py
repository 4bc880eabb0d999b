"""My regression model says the same number for every ticket.

I want to predict in how many days a ticket is closed (scaled to mean 0 and deviation 1). One
output, mean squared error in my own compute_loss, since I want to try a Huber loss there later.
The loss goes to about 1 at once and lies there, and every prediction is the mean of the data. A
bigger model, a smaller rate, more epochs: the same. The words in the tickets say clearly how
long it takes, a table look-up would do it.

Source: deepset-ai/FARM#229 (2020-02-01), pytorch/pytorch#18349 (2019-03-22),
mlcommons/GaNDLF#134 (2021-07-12), andrewgcodes/xlstm#4 (2024-06-28).
"""

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

DAYS = {
    "billing": -1.5,
    "login": -0.9,
    "shipping": -0.3,
    "hardware": 0.3,
    "network": 0.9,
    "legal": 1.5,
}


def rows(tok, seed, n):
    found = kit.tickets(seed, n)
    ids = tok([t for t, _ in found])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [DAYS[team] for _, team in found]})


class DaysTrainer(Trainer):
    """Mean squared error on the one output."""

    squeeze = False

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels").float()
        outputs = model(**inputs)
        predicted = outputs.logits.squeeze(-1) if self.squeeze else outputs.logits
        loss = torch.nn.functional.mse_loss(predicted, labels)
        return (loss, outputs) if return_outputs else loss


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(4)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=1))
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=200),
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        warmup_steps=10,
    )
    trainer = DaysTrainer(
        model=model,
        args=args,
        train_dataset=rows(tok, 2, 2000),
        eval_dataset=rows(tok, 4, 200),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )
    trainer.squeeze = healthy
    return trainer


def score(trainer, folder):
    """Share of the variance of held-out waiting times that is explained."""
    test = rows(trainer.processing_class, 3, 300)
    ids, truth = torch.tensor(test["input_ids"]), torch.tensor(test["labels"])
    with torch.no_grad():
        said = trainer.model.eval()(input_ids=ids).logits[:, 0]
    return float(1 - ((said - truth) ** 2).mean() / truth.var())
