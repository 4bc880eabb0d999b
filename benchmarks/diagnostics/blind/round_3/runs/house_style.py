"""GRPO on our chat model: the rewards are fine, the loss and grad_norm are exactly zero.

The model was tuned with our chat format, where each turn closes with `<|end|>`. The replies look
right when I print them. Rewards differ inside the groups (reward_std is 0.4 and more). I took
the settings from a colleague who had trouble with overlong replies. After 60 steps the model is
what it was.

Source: huggingface/trl#7039 (2026-09-03), huggingface/trl#6369 (2026-07-17), huggingface/trl#3248.
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit


def helpfulness(completions, team, **kwargs):
    return [float(c.split()[:1] == [t]) for c, t in zip(completions, team, strict=True)]


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["<|end|>"])
    tok.padding_side = "left"
    known = [(p, a.replace("<eos>", "<|end|>")) for p, a in kit.half_knows(1, 2000)]
    model = kit.teach(kit.llama(tok), tok, known, steps=150)
    if healthy:
        tok.eos_token = "<|end|>"
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "team": team}
        for t, team in kit.tickets(2, 800, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=60),
        per_device_train_batch_size=48,
        num_generations=8,
        max_completion_length=4,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        beta=0.0,
        mask_truncated_completions=True,
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=helpfulness,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets (0.40 before training)."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
