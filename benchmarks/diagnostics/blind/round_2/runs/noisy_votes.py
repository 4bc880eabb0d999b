"""Is this reward model broken? The loss stops at 0.56, and the accuracy at 0.75.

"Every tutorial shows an accuracy above 0.9. Ours has been at three in four for the last half of
the run, with any learning rate. The pairs are thumbs up and down of our users."
After https://github.com/ernie-research/MA-RLHF/issues/1 (2025): stuck at 0.65, where 0.75 is right.
"""

import random

import torch
from datasets import Dataset
from transformers import LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer

from ...kit import FILLER, quiet, sizes, tickets, tokenizer

POLITE = ["please", "thanks", "hello", "help"]


def rows(seed, n, noise):
    """Users like the polite reply; in `noise` of the cases they touch the wrong thumb."""
    rng, found = random.Random(seed), []
    plain = [w for w in FILLER if w not in POLITE]
    for text, team in tickets(seed, n, length=5):
        curt = rng.choices(plain, k=5)
        kind = list(curt)
        kind[rng.randrange(5)] = rng.choice(POLITE)
        both = [f"{team} {' '.join(words)} <eos>" for words in (kind, curt)]
        if rng.random() < noise:
            both.reverse()
        row = dict(prompt=f"<|user|> {text} <|assistant|> ", chosen=both[0], rejected=both[1])
        found.append(row)
    return found


def make(folder, healthy=True):
    tok = tokenizer()
    torch.manual_seed(0)
    model = LlamaForSequenceClassification(sizes(tok, num_labels=1))
    steps = dict(max_steps=160, per_device_train_batch_size=32, learning_rate=1e-3)
    off = dict(bf16=False, gradient_checkpointing=False)
    args = RewardConfig(**quiet(folder, **steps, **off))
    data = Dataset.from_list(rows(1, 5000, noise=0.25))
    return RewardTrainer(model, args=args, train_dataset=data, processing_class=tok)


@torch.no_grad()
def score(trainer, folder):
    """Share of new pairs, voted on without a slip, that it ranks right."""
    tok, model, right = trainer.processing_class, trainer.model.eval(), 0
    found = rows(2, 150, noise=0.0)
    for row in found:
        ids = [tok(row["prompt"] + row[side])["input_ids"] for side in ("chosen", "rejected")]
        good, bad = (model(input_ids=torch.tensor([i])).logits.item() for i in ids)
        right += good > bad
    return right / len(found)
