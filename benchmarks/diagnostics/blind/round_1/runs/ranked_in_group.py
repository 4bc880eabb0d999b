"""The GRPO reward is 0.5 from the first step to the last. To the digit.

Our judge cannot give marks, it can only say which of the eight replies to a prompt are better than
which others, so a reply's reward is its rank among its eight, from 0 to 1. The mean reward in the
log is flat as a table. reward_std is not zero and goes down slowly.

Source: huggingface/trl#6680 (2026-08-08, group-relative rewards) and trl#4707 named there.
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind.round_1 import kit

GROUP = 8


def rank(completions, team, **kwargs):
    right = [float(c.split()[:1] == [t]) for c, t in zip(completions, team, strict=True)]
    ranks = []
    for i in range(0, len(right), GROUP):
        group = right[i : i + GROUP]
        ranks += [0.5 + (r - sum(group) / GROUP) / 2 for r in group]
    return ranks


def make(folder, healthy=True):
    tok = kit.tokenizer()
    tok.padding_side = "left"
    model = kit.teach(kit.llama(tok), tok, [*kit.half_knows(1, 2000)], steps=150)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "team": team}
        for t, team in kit.tickets(2, 800, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=60),
        per_device_train_batch_size=48,
        num_generations=GROUP,
        max_completion_length=2,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=rank,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets (0.46 before training)."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
