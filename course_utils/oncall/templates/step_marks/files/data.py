"""Solutions as ids, with the mark of a step where its answer ends."""

import random

import torch
from marks import UNMARKED


def encode(solution, tokenizer):
    """Every step is a question and its answer; the mark stands at the end of the answer."""
    ids, labels = [], []
    for step, mark in zip(solution["steps"], solution["marks"]):
        question, equals, answer = step.replace(" ", "").partition("=")
        turns = [
            {"role": "user", "content": question + equals},
            {"role": "assistant", "content": answer},
        ]
        text = tokenizer.apply_chat_template(turns, tokenize=False)
        own = tokenizer(text, add_special_tokens=False)["input_ids"]
        end = len(own) - 1 - own[::-1].index(tokenizer.eos_token_id)
        ids += own
        labels += [mark if at == end else UNMARKED for at in range(len(own))]
    return ids, labels


def collate(rows, pad_id):
    """Rows padded on the right to the longest of them."""
    width = max(len(ids) for ids, _ in rows)
    batch = {"input_ids": [], "attention_mask": [], "labels": []}
    for ids, labels in rows:
        gap = width - len(ids)
        batch["input_ids"].append(ids + [pad_id] * gap)
        batch["attention_mask"].append([1] * len(ids) + [0] * gap)
        batch["labels"].append(labels + [UNMARKED] * gap)
    return {name: torch.tensor(values) for name, values in batch.items()}


def endless(rows, size, seed):
    """Lists of rows for ever, in a new order each epoch."""
    rng = random.Random(seed)
    while True:
        order = rng.sample(rows, len(rows))
        for at in range(0, len(order) - size + 1, size):
            yield order[at : at + size]


def mark_weights(rows, num_marks):
    """One over the frequency of each mark, 1 in the mean over the marks."""
    counts = [sum(labels.count(mark) for _, labels in rows) for mark in range(num_marks)]
    return [sum(counts) / (num_marks * max(count, 1)) for count in counts]
