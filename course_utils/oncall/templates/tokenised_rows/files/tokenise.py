"""Rows to ids, with the tokenizers library alone: the job runs on machines without torch."""

import json

from jinja2 import Template
from tokenizers import Tokenizer


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def load(folder):
    """The tokenizer of a folder, and its settings: the chat template, the end of a turn."""
    with open(f"{folder}/tokenizer_config.json", encoding="utf-8") as file:
        settings = json.load(file)
    return Tokenizer.from_file(f"{folder}/tokenizer.json"), settings


def encode(row, tokenizer, settings):
    """Ids of one chat, and how many of them are the prompt's."""
    chat = [{"role": "user", "content": row["question"]}]
    template = Template(settings["chat_template"])
    prompt = template.render(messages=chat, add_generation_prompt=True)
    whole = prompt + row["answer"] + settings["eos_token"]
    return tokenizer.encode(whole).ids, len(tokenizer.encode(prompt).ids)


def encode_file(path, folder):
    tokenizer, settings = load(folder)
    rows = [encode(row, tokenizer, settings) for row in read_jsonl(path)]
    print(f"{len(rows)} rows, {sum(len(ids) for ids, _ in rows)} ids from {path}")
    return rows
