"""Small network for arrow signs gets half of them wrong and looks undertrained.

Four kinds of signs in little pictures: turn left, turn right, bear left, bear right. A small
ResNet from scratch, a usual augmentation (crop by a pixel, mirror, brightness). Training loss
goes down to 0.7 and does not move from there, validation accuracy stays around a half. A deeper
network and three times as long: the same 0.7. A colleague can tell all of the pictures apart.

Source: open-mmlab/mmaction2#590 (2021-02-03), zllrunning/face-parsing.PyTorch#57 (2024-06-06),
paninski-lab/lightning-pose#446 (2026-06-15).
"""

import random

import torch
from datasets import Dataset
from transformers import ResNetConfig, ResNetForImageClassification, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

KINDS = ["turn left", "turn right", "bear left", "bear right"]
SIDE = 14


def picture(rng, kind):
    """A white sign on noise: a shaft with a head to one side, or a slanted bar with a foot."""
    image = torch.rand(SIDE, SIDE, generator=torch.Generator().manual_seed(rng.randrange(2**31)))
    image = 0.3 * image
    y, x = rng.randrange(4, 9), rng.randrange(4, 9)
    if kind < 2:
        image[y, x - 3 : x + 4] += 0.7
        for i in range(3):
            image[y - i, x - 3 + i] += 0.5
            image[y + i, x - 3 + i] += 0.5
    else:
        for i in range(-3, 4):
            image[y + i, x + i] += 0.7
        image[y - 3, x - 3 : x] += 0.5
    return image.flip(-1) if kind % 2 else image


class Pictures:
    """What the loader does to each picture of the training set."""

    def __init__(self, mirror, seed=0):
        self.mirror, self.rng = mirror, random.Random(seed)

    def __call__(self, rows):
        made = []
        for image in rows["image"]:
            image = torch.tensor(image).roll(self.rng.choice([-1, 0, 1]), -1)
            if self.rng.random() < self.mirror:
                image = image.flip(-1)
            made.append((image * self.rng.uniform(0.8, 1.2))[None])
        return {"pixel_values": made, "labels": rows["label"]}


def plain(rows):
    return {"pixel_values": [torch.tensor(i)[None] for i in rows["image"]], "labels": rows["label"]}


def signs(seed, n):
    rng = random.Random(seed)
    kinds = [rng.randrange(4) for _ in range(n)]
    return Dataset.from_dict({"image": [picture(rng, k).tolist() for k in kinds], "label": kinds})


def collate(rows):
    pixels = torch.stack([r["pixel_values"] for r in rows])
    return {"pixel_values": pixels, "labels": torch.tensor([r["labels"] for r in rows])}


def accuracy(found):
    logits = found.predictions[0] if isinstance(found.predictions, tuple) else found.predictions
    return {"accuracy": float((logits.argmax(-1) == found.label_ids).mean())}


def network():
    torch.manual_seed(8)
    config = ResNetConfig(
        num_channels=1,
        embedding_size=16,
        hidden_sizes=[16, 32],
        depths=[1, 1],
        layer_type="basic",
        downsample_in_first_stage=False,
        num_labels=len(KINDS),
    )
    return ResNetForImageClassification(config)


def make(folder, healthy=False):
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=10,
        eval_strategy="steps",
        eval_steps=30,
        remove_unused_columns=False,
    )
    return Trainer(
        model=network(),
        args=args,
        train_dataset=signs(1, 1200).with_transform(Pictures(mirror=0.0 if healthy else 0.5)),
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
