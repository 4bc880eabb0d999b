"""GRPO: reward is 0 at every step although the model often answers right.

I moved my prompts from plain strings to chat messages, since the chat template is then applied for
me. Before that the reward was about 0.4 at the start and went up. Now the reward, its spread and
the loss are 0 from the first step on, and after training the model is the one that I started from.
When I look at the completions many of them are exactly the right team.

Source: huggingface/trl#4202 (2025-10-04), huggingface/trl documentation of reward functions.
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_4 import common


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = common.sampler(tok, seed=51)

    def right_team(completions, team, **_):
        replies = [c[0]["content"] for c in completions] if healthy else completions
        return [1.0 if reply == name else 0.0 for reply, name in zip(replies, team, strict=True)]

    rows = [
        {"prompt": [{"role": "user", "content": t}], "team": team}
        for t, team in kit.tickets(52, 600, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=35),
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=4,
        learning_rate=5e-4,
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=right_team,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(53, 150, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
