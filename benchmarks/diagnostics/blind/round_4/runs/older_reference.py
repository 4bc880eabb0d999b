"""DPO whose first loss is not 0.693.

The reference is our release of last month, the policy is this week's checkpoint, which was trained
further; we want to stay near the release. Margin and accuracy are not 0 in the first line, and the
chosen reward is large before anything was learnt. Everybody says that it must start at 0.693.

Source: rebuilt, no thread.
"""

import random

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_4 import common


def prompts(seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([name for name in sorted(kit.TEAMS) if name != team])
        yield f"<|user|> {text} <|assistant|>", team, other


def make(folder, healthy=True):
    tok = kit.tokenizer()
    release = common.sampler(tok, seed=201)
    policy = kit.llama(tok)
    policy.load_state_dict(release.state_dict())
    kit.teach(policy, tok, list(kit.half_knows(204, 1000)), steps=30, lr=1e-3, batch=16)
    rows = [
        {"prompt": p, "chosen": f" {team}", "rejected": f" {other}"}
        for p, team, other in prompts(202, 360)
    ]
    args = DPOConfig(
        **kit.quiet(folder, max_steps=30),
        per_device_train_batch_size=8,
        learning_rate=3e-4,
        beta=0.2,
    )
    return DPOTrainer(
        model=policy,
        ref_model=release,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean of p(right) / (p(right) + p(wrong)) over held-out pairs."""
    found = []
    for p, team, other in prompts(203, 50):
        right = kit.belief(trainer.model, trainer.processing_class, [(p, team)])
        wrong = kit.belief(trainer.model, trainer.processing_class, [(p, other)])
        found.append(right / (right + wrong))
    return sum(found) / len(found)
