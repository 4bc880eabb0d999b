"""Chats to padded batches: ids, mask, labels."""

import json
import random

import torch

IGNORED = -100


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def encode(row, tokenizer, max_length):
    """Ids of one chat, and its labels: the reply and its end, nothing of the question."""
    chat = [{"role": "user", "content": row["question"]}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    reply = row["answer"] + tokenizer.eos_token
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    reply_ids = tokenizer(reply, add_special_tokens=False)["input_ids"]
    ids = prompt_ids + reply_ids
    labels = [IGNORED] * len(prompt_ids) + reply_ids
    return ids[:max_length], labels[:max_length]


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


class Batches:
    """Micro-batches for ever, a new order each epoch; it can be continued from a step."""

    def __init__(self, rows, size, seed, shuffle=True):
        self.rows, self.size, self.seed, self.shuffle = rows, size, seed, shuffle

    def epoch(self, number):
        order = list(range(len(self.rows)))
        if self.shuffle:
            random.Random(f"{self.seed} {number}").shuffle(order)
        return [order[at : at + self.size] for at in range(0, len(order), self.size)]

    def starting_at(self, position):
        """Lists of rows, from the micro-batch of that number on."""
        per_epoch = len(self.rows) // self.size
        while True:
            chosen = self.epoch(position // per_epoch)[position % per_epoch]
            yield [self.rows[index] for index in chosen]
            position += 1
