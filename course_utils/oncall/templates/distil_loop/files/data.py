"""Chats to padded batches: ids, mask, and which positions predict a token of the reply."""

import json
import random

import torch


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def encode(row, tokenizer):
    """Ids of one chat, and how many of them are the prompt's."""
    chat = [{"role": "user", "content": row["question"]}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    reply = row["answer"] + tokenizer.eos_token
    return prompt_ids + tokenizer(reply, add_special_tokens=False)["input_ids"], len(prompt_ids)


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
