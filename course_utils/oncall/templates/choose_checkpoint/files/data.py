"""Chats to padded batches: ids, mask, labels."""

import json
import random

import torch

IGNORED = -100


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def by_month(rows, seed):
    """The oldest month first, the rows of a month in a drawn order."""
    drawn = random.Random(seed)
    return sorted(rows, key=lambda row: (row["month"], drawn.random()))


def encode(row, tokenizer):
    """Ids of one chat, and its labels: the reply and its end, nothing of the question."""
    chat = [{"role": "user", "content": row["question"]}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    reply = row["answer"] + tokenizer.eos_token
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    reply_ids = tokenizer(reply, add_special_tokens=False)["input_ids"]
    return prompt_ids + reply_ids, [IGNORED] * len(prompt_ids) + reply_ids


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
