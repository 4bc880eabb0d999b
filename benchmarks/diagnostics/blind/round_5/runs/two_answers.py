"""GRPO with two answers per prompt: loss near zero, most of the groups without spread.

We can afford only two generations per prompt. The logged loss lies between -0.000 and 0.009,
the clip ratio is always 0, there is no KL, and in more than half of the groups both answers get
the same reward; the share grows during the run. Is anything learnt this way?

Source: rebuilt, no thread.
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_5.runs.right_team import correct_team


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.teach(kit.llama(tok, seed=20), tok, list(kit.half_knows(1, 2000)), steps=200)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "answer": team}
        for t, team in kit.tickets(2, 2000, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=100, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=64,
        num_generations=2,
        max_completion_length=3,
        learning_rate=3e-4,
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        reward_funcs=correct_team,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
