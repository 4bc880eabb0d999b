"""GRPO on our tickets: reward goes up and down and the model gets no better.

The policy is right in a bit less than half of the tickets. The reward function compares each
reply with the answer column and gives 1 or 0; I tested it by hand on single tickets. There is
spread in the rewards, gradients are there, the rate is one that works in another project. After
100 steps it is as good as before.

Source: huggingface/trl#6680 (2026-08-08), huggingface/trl#6072 (2026-06-19); `answer[0]` in
reward functions copied from notebooks that print the first row of the batch.
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit


def first_word(text):
    words = text.split()
    return words[0] if words else ""


def correct_answer(prompts, completions, answer, **kwargs):
    """1 for the right team, 0 for another."""
    replies = [first_word(c) for c in completions]
    return [1.0 if reply == answer[0] else 0.0 for reply in replies]


def correct_team(prompts, completions, answer, **kwargs):
    """1 for the right team, 0 for another."""
    replies = [first_word(c) for c in completions]
    return [1.0 if reply == a else 0.0 for reply, a in zip(replies, answer, strict=True)]


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.teach(kit.llama(tok), tok, list(kit.half_knows(1, 2000)), steps=200)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "answer": team}
        for t, team in kit.tickets(2, 1000, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=100, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=64,
        num_generations=4,
        max_completion_length=3,
        learning_rate=2e-4,
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        reward_funcs=correct_team if healthy else correct_answer,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
