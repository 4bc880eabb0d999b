"""Rows for the trainer: one chat a line, the last message is what the model should say."""

import json

from datasets import Dataset

SYSTEM = ""  # we had "You are a calculator." here, it made no difference


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def to_chat(row):
    """A row as TRL's conversational prompt and completion."""
    prompt = [{"role": "user", "content": row["question"]}]
    if SYSTEM:
        prompt.insert(0, {"role": "system", "content": SYSTEM})
    completion = [{"role": "assistant", "content": row["answer"]}]
    return {"prompt": prompt, "completion": completion}


def load_chats(path):
    rows = read_jsonl(path)
    print(f"{len(rows)} rows from {path}, the first: {rows[0]}")
    return Dataset.from_list([to_chat(row) for row in rows])
