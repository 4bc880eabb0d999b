"""RLOO with rewards that are never above zero.

My reward has penalties only: -2 for a wrong team, a bit off for each word too many, 0 at best. In
the log the reward is negative all the time and the loss changes its sign from line to line. Do I
need to shift the reward above zero for this to work?

Source: rebuilt, no thread.
"""

from datasets import Dataset
from trl import RLOOConfig, RLOOTrainer

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_4 import common


def penalty(completions, team, **_):
    found = []
    for reply, name in zip(completions, team, strict=True):
        words = reply.split()
        found.append(-2.0 * (words[:1] != [name]) - 0.3 * max(0, len(words) - 1))
    return found


def make(folder, healthy=True):
    tok = kit.tokenizer()
    model = common.sampler(tok, seed=171)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "team": team}
        for t, team in kit.tickets(172, 300, length=5)
    ]
    args = RLOOConfig(
        **kit.quiet(folder, max_steps=28),
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=4,
        learning_rate=5e-4,
        beta=0.0,
    )
    return RLOOTrainer(
        model=model,
        reward_funcs=penalty,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(173, 100, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
