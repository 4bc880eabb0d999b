"""Judged replies as ids and a class."""

import json
from collections import Counter

from datasets import Dataset


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def as_chat(row):
    return [
        {"role": "user", "content": row["question"]},
        {"role": "assistant", "content": row["reply"]},
    ]


def encode(row, tokenizer, classes):
    """Ids of the whole chat, and the number of its class."""
    text = tokenizer.apply_chat_template(as_chat(row), tokenize=False)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return {"input_ids": ids, "labels": classes.index(row["verdict"])}


def load_rows(path, tokenizer, classes):
    rows = read_jsonl(path)
    print(f"{len(rows)} replies from {path}: {dict(Counter(row['verdict'] for row in rows))}")
    return Dataset.from_list([encode(row, tokenizer, classes) for row in rows])


def class_weights(rows, num_classes):
    """One over the frequency of each class, 1 in the mean over the rows."""
    counts = Counter(rows["labels"])
    return [len(rows) / (num_classes * counts[number]) for number in range(num_classes)]
