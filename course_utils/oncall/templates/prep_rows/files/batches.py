"""Rows of ids and labels to padded batches."""

import random

import torch
from prepare import IGNORED


def collate(rows, pad_id):
    """Rows padded on the right to the longest of them."""
    width = max(len(ids) for ids, _ in rows)
    batch = {"input_ids": [], "attention_mask": [], "labels": []}
    for ids, labels in rows:
        gap = width - len(ids)
        batch["input_ids"].append(ids + [pad_id] * gap)
        batch["attention_mask"].append([1] * len(ids) + [0] * gap)
        batch["labels"].append(labels + [IGNORED] * gap)
    return {name: torch.tensor(values) for name, values in batch.items()}


def cut(rows, size):
    return [rows[at : at + size] for at in range(0, len(rows), size)]


def endless(rows, cfg):
    """Lists of rows for ever, in a new order each epoch."""
    seed, number = cfg["seed"], 0
    while True:
        order = list(range(len(rows)))
        if cfg["shuffle"]:
            random.Random(f"{seed} {number}").shuffle(order)
        yield from cut([rows[index] for index in order], cfg["batch_size"])
        number += 1
