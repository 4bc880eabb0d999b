"""KTO with nine complaints for each thumbs-up: loss, KL and rewards all look lopsided.

Nearly nobody thanks us, so nine of ten replies in the file are marked as undesirable; I set the
weights as the documentation says. KL is 0 in most lines, the reward of the good ones hardly moves,
that of the bad ones falls and falls. Do I have to throw away complaints until both are even?

Source: rebuilt, no thread.
"""

import copy
import random

from datasets import Dataset
from trl import KTOConfig, KTOTrainer

from benchmarks.diagnostics.blind import kit


def replies(seed, n):
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    for text, team in kit.tickets(seed, n, length=5):
        good = rng.random() < 0.1
        said = team if good else rng.choice([t for t in teams if t != team])
        ask = f"<|user|> {text} <|assistant|>"
        yield {"prompt": ask, "completion": f" {said} <eos>", "label": good}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.teach(kit.llama(tok, seed=25), tok, list(kit.half_knows(8, 2000)), steps=160)
    args = KTOConfig(
        **kit.quiet(folder, max_steps=160, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=32,
        learning_rate=5e-4,
        beta=0.1,
        desirable_weight=9.0,
        undesirable_weight=1.0,
        max_length=32,
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(list(replies(2, 3000))),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets, 0.35 before training."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
