"""Rows of ids to padded batches."""

import random

import torch

IGNORED = -100


def collate(rows, pad_id):
    """Rows padded on the right to the longest of them; the prompt has no labels."""
    width = max(len(ids) for ids, _ in rows)
    batch = {"input_ids": [], "attention_mask": [], "labels": []}
    for ids, num_prompt in rows:
        gap = width - len(ids)
        batch["input_ids"].append(ids + [pad_id] * gap)
        batch["attention_mask"].append([1] * len(ids) + [0] * gap)
        batch["labels"].append([IGNORED] * num_prompt + ids[num_prompt:] + [IGNORED] * gap)
    return {name: torch.tensor(values) for name, values in batch.items()}


def batches(rows, size, seed):
    """Batches for ever, a new order each epoch."""
    drawn = random.Random(seed)
    while True:
        order = drawn.sample(range(len(rows)), len(rows))
        for at in range(0, len(order) - size + 1, size):
            yield [rows[index] for index in order[at : at + size]]
