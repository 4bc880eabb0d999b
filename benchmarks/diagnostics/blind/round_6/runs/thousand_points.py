"""GRPO with points instead of rewards: values around 1000, loss 0.00, is this too large?

Our scoring gives a thousand points for taking part, fifty more for the right team and takes off
one for each word. I did not scale anything. Rewards in the log are 1010 to 1040 with a spread of
20, the loss is around 0. I read that rewards should lie between 0 and 1. Do I have to scale?

Source: rebuilt, no thread.
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit


def points(prompts, completions, answer, **kwargs):
    words = [c.split() for c in completions]
    pairs = zip(words, answer, strict=True)
    return [1000.0 + 50.0 * (w[:1] == [a]) - len(w) for w, a in pairs]


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.teach(kit.llama(tok, seed=22), tok, list(kit.half_knows(1, 2000)), steps=200)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "answer": team}
        for t, team in kit.tickets(2, 1000, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=80, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=3,
        learning_rate=3e-4,
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        reward_funcs=points,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
