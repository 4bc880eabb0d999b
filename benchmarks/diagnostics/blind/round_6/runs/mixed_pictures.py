"""Training loss stays near 0.6 and training accuracy makes no sense, validation is perfect.

Mixup with alpha 1: every picture is a blend of two, and so is its label. The training loss comes
down to about 0.6 and stays, while validation loss goes to 0.2 and less and the accuracy there is 1.
So the model is better on pictures it has never seen than on those it learns from?

Source: rebuilt, no thread.
"""

import torch
import torch.nn.functional as F
from transformers import Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_6.runs.arrow_signs import (
    KINDS,
    accuracy,
    collate,
    network,
    plain,
    signs,
)


class Mixed(Trainer):
    """Blends each picture, and its label, with another one of the batch."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels, pixels = F.one_hot(inputs["labels"], len(KINDS)).float(), inputs["pixel_values"]
        if model.training:
            part = torch.distributions.Beta(1.0, 1.0).sample((len(pixels), 1))
            other = torch.randperm(len(pixels))
            labels = part * labels + (1 - part) * labels[other]
            part = part[:, :, None, None]
            pixels = part * pixels + (1 - part) * pixels[other]
        outputs = model(pixel_values=pixels)
        loss = F.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss


def make(folder, healthy=False):
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=200),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=10,
        eval_strategy="steps",
        eval_steps=40,
        remove_unused_columns=False,
        label_names=["labels"],
    )
    return Mixed(
        model=network(),
        args=args,
        train_dataset=signs(1, 1200).with_transform(plain),
        eval_dataset=signs(2, 120).with_transform(plain),
        data_collator=collate,
        compute_metrics=accuracy,
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new signs that are told right."""
    test = collate(list(signs(3, 300).with_transform(plain)))
    heard = trainer.model.eval()(pixel_values=test["pixel_values"]).logits.argmax(-1)
    return float((heard == test["labels"]).float().mean())
