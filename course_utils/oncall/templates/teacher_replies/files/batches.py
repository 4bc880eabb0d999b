"""Chats to padded batches: ids, mask, and which positions predict a token of the reply."""

import random

import torch


def collate(rows, pad_id):
    """Rows padded on the right; `predicts` is True where the next token is of the reply."""
    width = max(len(ids) for ids, _ in rows)
    ids = torch.full((len(rows), width), pad_id)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    predicts = torch.zeros(len(rows), width, dtype=torch.bool)
    for number, (row, num_prompt) in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
        predicts[number, num_prompt - 1 : len(row) - 1] = True
    return {"input_ids": ids, "attention_mask": mask, "predicts": predicts}


def batches(rows, size, seed):
    """Batches for ever, in a new order each epoch."""
    drawn = random.Random(seed)
    while True:
        order = drawn.sample(rows, len(rows))
        for at in range(0, len(order) - size + 1, size):
            yield order[at : at + size]
