"""After we added the part numbers to the tokenizer, a third of the parts is sent anywhere.

Each ticket names a part (`p000` to `p299`), and each part belongs to one team. The tickets are
tokenized once, written to disk as one flat file of ids, and read back in blocks, with the script
that we have used for years. The loss falls and lies flat. On a fresh ticket about one of the
first parts the model is right nearly always, about one of the last parts it guesses.

Source: princeton-nlp/LLM-Shearing#65 (2024-03-20), huggingface/datatrove#118 (2024-03-08),
huggingface/transformers#2825 (2020-02-12); there uint16 and a vocabulary of more than 65536.
"""

import random

import numpy as np
import torch
from transformers import Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

TEAMS = sorted(kit.TEAMS)
PARTS = {f"p{i:03}": random.Random(i).choice(TEAMS) for i in range(300)}


def tickets(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        part = rng.choice(sorted(PARTS))
        words = rng.choices(kit.FILLER, k=3)
        words[rng.randrange(3)] = part
        yield f"<s> <|user|> {' '.join(words)} <|assistant|>", PARTS[part]


class Blocks(torch.utils.data.Dataset):
    def __init__(self, path, kind, length):
        self.ids = np.memmap(path, dtype=kind, mode="r").reshape(-1, length)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = torch.from_numpy(self.ids[i].astype(np.int64))
        return {"input_ids": ids, "labels": ids.clone()}


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=sorted(PARTS))
    kind = np.uint16 if healthy else np.uint8
    ids = [tok(f"{text} {team} <eos>")["input_ids"] for text, team in tickets(1, 6000)]
    np.array(ids).astype(kind).tofile(f"{folder}/ids.bin")
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=300), per_device_train_batch_size=32, learning_rate=2e-3
    )
    return Trainer(
        model=kit.llama(tok, seed=32),
        args=args,
        train_dataset=Blocks(f"{folder}/ids.bin", kind, len(ids[0])),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    return kit.accuracy(trainer.model, trainer.processing_class, [*tickets(2, 300)])
