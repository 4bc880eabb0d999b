"""Which rank reads which files, and its rows as padded batches."""

import json
import random

import torch

IGNORED = -100


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def files_of(rank, cfg):
    """The files of a rank: the index is dealt in blocks."""
    index = read_jsonl(cfg["index_file"])
    size = len(index) // cfg["deal_over"]
    return [entry["file"] for entry in index[rank * size : (rank + 1) * size]]


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


def load_shard(host, tokenizer, cfg):
    """The rows of one rank, read on its host."""
    rank, name = host["rank"], host["name"]
    files = files_of(rank, cfg)
    rows = [row for path in files for row in read_jsonl(path)]
    print(f"rank {rank} on {name}: {len(rows)} rows in {len(files)} files")
    return [encode(row, tokenizer, host["max_length"]) for row in rows]


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


def endless(rows, rank, cfg):
    """Lists of rows for ever, in a new order each epoch."""
    seed, size = cfg["seed"], cfg["batch_size"]
    number = 0
    while True:
        order = list(range(len(rows)))
        random.Random(f"{seed} {rank} {number}").shuffle(order)
        for at in range(0, len(rows) - size + 1, size):
            yield [rows[index] for index in order[at : at + size]]
        number += 1
