"""Preference pairs as whole chats, as RewardTrainer takes them."""

import json

from datasets import Dataset


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def chat(question, reply):
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": reply},
    ]


def to_pair(row):
    return {
        "chosen": chat(row["question"], row["chosen"]),
        "rejected": chat(row["question"], row["rejected"]),
    }


def load_pairs(path):
    rows = read_jsonl(path)
    print(f"{len(rows)} pairs from {path}, the first: {rows[0]}")
    return Dataset.from_list([to_pair(row) for row in rows])
