"""The desk's log and what people thought of it: single replies, of which nobody compares two."""

import json

from datasets import Dataset


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def to_example(turn, liked):
    """A row as KTOTrainer takes it: a prompt, one reply, and whether it is wanted."""
    return {
        "prompt": [{"role": "user", "content": turn["asked"]}],
        "completion": [{"role": "assistant", "content": turn["said"]}],
        "label": bool(liked),
    }


def load_feedback(cfg):
    """The replies that somebody voted on, in the order of the votes."""
    log = {turn["id"]: turn for turn in read_jsonl(cfg["log_file"])}
    votes = read_jsonl(cfg["votes_file"])
    examples = [to_example(log[vote["id"]], vote["liked"]) for vote in votes]
    print(f"{len(log)} replies, {len(votes)} votes, the first: {examples[0]}")
    return Dataset.from_list(examples)
