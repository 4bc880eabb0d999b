"""Packs of ids, as the tokenising job left them, to batches."""

import json
import random

import torch


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def once_each(rows):
    """The first row of each pack: exports overlap."""
    kept = {}
    for row in rows:
        kept.setdefault(row["pack"], row)
    return list(kept.values())


def load_sources(cfg):
    """The packs of each source, and the share of the batches that each of them has."""
    sources, shares = [], []
    for entry in read_jsonl(cfg["mixture_file"]):
        rows = once_each(read_jsonl(entry["file"]))
        sources.append(rows)
        shares.append(entry["share"])
        print(f"{entry['source']}: {len(rows)} packs, share {entry['share']}")
    return sources, shares


def endless(rows, drawn):
    """Packs of one source for ever, in a new order each epoch."""
    while True:
        order = list(range(len(rows)))
        drawn.shuffle(order)
        for index in order:
            yield rows[index]


def batches(sources, shares, cfg):
    """Lists of packs for ever, each pack from a source that is drawn by its share."""
    drawn = random.Random(cfg["seed"])
    streams = [endless(rows, drawn) for rows in sources]
    while True:
        chosen = drawn.choices(range(len(streams)), weights=shares, k=cfg["batch_size"])
        yield [next(streams[number]) for number in chosen]


def documents_of(row, length):
    """The number of the document that each token belongs to."""
    numbers = torch.zeros(length, dtype=torch.long)
    for start in row["starts"]:
        numbers[start:] += 1
    return numbers


def own_document(documents):
    """Which tokens each token sees: those before it in its own document."""
    same = documents[:, :, None] == documents[:, None, :]
    return (same & torch.ones_like(same).tril())[:, None]


def collate(rows, cfg):
    """Packs are of one length, so nothing is padded here."""
    length = cfg["pack_length"]
    documents = torch.stack([documents_of(row, length) for row in rows])
    return {
        "input_ids": torch.tensor([row["ids"][:length] for row in rows]),
        "position_ids": torch.tensor([row["positions"][:length] for row in rows]),
        "weights": torch.tensor([row["weights"][:length] for row in rows], dtype=torch.float),
        "documents": documents,
        "attention_mask": own_document(documents),
    }
