"""The model writes my reports nicely, but never gets to a verdict that makes sense.

Every report begins with the word that the case is about, goes through our standard form, and ends
with `verdict : <team>`. SFT on 600 of them with the examples put together to save time. It is very
fast, faster than I expected from the size of the files, and the loss ends near zero. On new
reports the form comes out word for word, and then the verdict is anything but a team.

Source: huggingface/trl#4554 (2025-11-21), trl#4632 (2025-12-05), trl#5076 (2026-02-11: "lost 99.8%
of tokens").
"""

import random

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind.round_1 import kit

FORM = "we need help with the order after the update it works not for our customer since last week"


def report(rng):
    team = rng.choice(sorted(kit.TEAMS))
    return f"about {rng.choice(kit.TEAMS[team])} {FORM} verdict :", team


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["verdict", ":"])
    rng = random.Random(4)
    rows = [{"text": " ".join(report(rng)) + " <eos>"} for _ in range(600)]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=200),
        per_device_train_batch_size=4,
        learning_rate=3e-3,
        max_length=96 if healthy else 16,
        packing=True,
    )
    return SFTTrainer(
        model=kit.llama(tok, seed=4),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of reports that end with the right verdict."""
    rng = random.Random(5)
    rows = [report(rng) for _ in range(150)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
