"""Preference pairs: one question a line, the reply we want and the one we do not."""

import json

from datasets import Dataset


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def user(text):
    return [{"role": "user", "content": text}]


def assistant(text):
    return [{"role": "assistant", "content": text}]


def to_pair(row):
    """A row as TRL takes it: a prompt, and two replies to it."""
    return {
        "prompt": user(row["question"]),
        "chosen": assistant(row["chosen"]),
        "rejected": assistant(row["rejected"]),
    }


def load_pairs(path):
    rows = read_jsonl(path)
    same = sum(row["chosen"] == row["rejected"] for row in rows)
    print(f"{len(rows)} pairs from {path}, {same} of them with two equal replies")
    return Dataset.from_list([to_pair(row) for row in rows])
