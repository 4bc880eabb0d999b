"""The loss goes up in the middle of the run and stays up there until the end.

First half of the data: the reply is the name of the team. Second half: the reply goes on with a
sentence of small talk, as our people write it. In that order, on purpose (the loader does not
shuffle). Loss 0.04 before the middle, then 6, and about 3 until the end.

Source: a question that comes back in every forum on curricula and data mixes; rebuilt here.
"""

import random

import torch
from datasets import Dataset
from torch.utils.data import SequentialSampler
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind.round_1 import kit


class InOrder(SFTTrainer):
    def _get_train_sampler(self, dataset=None):
        return SequentialSampler(dataset if dataset is not None else self.train_dataset)


def conversations(seed, n, talk):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n):
        more = " ".join(rng.choices(kit.FILLER, k=5)) if talk else ""
        yield {"prompt": f"<|user|> {text} <|assistant|>", "completion": f" {team} {more}".rstrip()}


def make(folder, healthy=True):
    tok = kit.tokenizer()
    rows = [*conversations(1, 1200, talk=False), *conversations(2, 1200, talk=True)]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=16,
        learning_rate=3e-3,
    )
    return InOrder(
        model=kit.llama(tok, seed=22),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
