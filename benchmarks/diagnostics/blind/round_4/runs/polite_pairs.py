"""DPO loss stays at 0.6931 for the whole run.

Preference tuning of a support model. Both answers of a pair are polite sentences that end with the
team; in the chosen one the team is right. From the first to the last step the loss is 0.6931 and
margins and accuracies are 0. I raised beta and the learning rate by ten each, no change at all.
The pairs are fine, I looked at a hundred of them.

Source: Yifan-Song793/ETO#14 (2025-03-20), huggingface/trl#5826 (2026-05-24),
huggingface/trl#2209 (2024-10-09).
"""

import copy
import random

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_4 import common

OPENING = "thanks for the mail we need help and the team"


def prompts(seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([name for name in sorted(kit.TEAMS) if name != team])
        yield f"<|user|> {text} <|assistant|>", team, other


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = common.sampler(tok, seed=61, lead=f" {OPENING}")
    rows = [
        {"prompt": p, "chosen": f" {OPENING} {team}", "rejected": f" {OPENING} {other}"}
        for p, team, other in prompts(62, 320)
    ]
    args = DPOConfig(
        **kit.quiet(folder, max_steps=36),
        per_device_train_batch_size=8,
        learning_rate=4e-4,
        beta=0.1,
        max_length=64 if healthy else 16,
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean of p(right) / (p(right) + p(wrong)) over held-out pairs."""
    found = []
    for p, team, other in prompts(63, 50):
        right = kit.belief(trainer.model, trainer.processing_class, [(f"{p} {OPENING}", team)])
        wrong = kit.belief(trainer.model, trainer.processing_class, [(f"{p} {OPENING}", other)])
        found.append(right / (right + wrong))
    return sum(found) / len(found)
