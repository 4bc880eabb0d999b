"""Preference training starts at a loss of 2500. Everybody else starts at 0.69.

DPOTrainer, only the loss type and beta are not the usual ones, a colleague chose them. The
loss is 2500.0 in the first line, in the hundreds soon after, and grad_norm has five digits.

Source: a standing question on losses of other kinds than the usual; rebuilt here, no thread.
"""

import random

from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit


def pairs_of(seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([t for t in sorted(kit.TEAMS) if t != team])
        yield {"prompt": f"<|user|> {text} <|assistant|>", "chosen": team, "rejected": other}


def make(folder, healthy=True):
    tok = kit.tokenizer()
    base = kit.teach(kit.llama(tok), tok, [*kit.half_knows(1, 2000)], steps=150)
    base.save_pretrained(f"{folder}/base")
    args = DPOConfig(
        **kit.quiet(folder, max_steps=80) | {"logging_steps": 1},
        per_device_train_batch_size=16,
        learning_rate=2e-4,
        loss_type=["ipo"],
        beta=0.01,
    )
    return DPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(f"{folder}/base"),
        args=args,
        train_dataset=Dataset.from_list([*pairs_of(2, 800)]),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
