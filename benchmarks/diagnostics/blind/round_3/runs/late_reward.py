"""GRPO: the reward is near zero and most groups have none at all. Should I stop it?

The model hardly ever says the right thing: a reply counts only if it names the team and then the
word `thanks`, and the model says this combination about once in thirty. In the first lines of the
log the reward is 0.03, frac_reward_zero_std is 0.77, the loss is 0.0.

Source: a question of many threads on sparse rewards; rebuilt here.
"""

import random

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit


def in_full(completions, team, **kwargs):
    return [float(c.split()[:2] == [t, "thanks"]) for c, t in zip(completions, team, strict=True)]


def starts(seed, n):
    rng = random.Random(seed)
    for prompt, answer in kit.half_knows(seed, n):
        after = "thanks" if rng.random() < 0.05 else rng.choice(["soon", "today", "again"])
        yield prompt, answer.replace("<eos>", f"{after} <eos>")


def make(folder, healthy=True):
    tok = kit.tokenizer()
    tok.padding_side = "left"
    model = kit.teach(kit.llama(tok), tok, [*starts(1, 2000)], steps=150)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "team": team}
        for t, team in kit.tickets(2, 800, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=120),
        per_device_train_batch_size=48,
        num_generations=8,
        max_completion_length=3,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=in_full,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets with the right team, then `thanks`, both greedy."""
    tok, model = trainer.processing_class, trainer.model
    found = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    teams = kit.said(model, tok, [p for p, _ in found])
    words = kit.said(model, tok, [f"{p} {t}" for (p, _), t in zip(found, teams, strict=True)])
    hits = [t == a and w == "thanks" for (_, a), t, w in zip(found, teams, words, strict=True)]
    return sum(hits) / len(hits)
