"""Is this GRPO run collapsing? Entropy goes towards 0, replies shrink to two tokens.

"In the end frac_reward_zero_std is 0.7 to 0.8 and the loss next to nothing. All the posts
on entropy collapse show just these curves. The reward is up, but I no longer trust it."
After https://github.com/verl-project/verl/issues/2738 and
https://github.com/rllm-org/rllm/issues/15 (2025).
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from ...kit import accuracy, half_knows, llama, quiet, teach, tickets, tokenizer


def rows(seed, n):
    return [(f"<|user|> {t} <|assistant|>", team) for t, team in tickets(seed, n, length=5)]


def chatty(seed, n):
    """The sampler says thanks after half of its answers."""
    for i, (prompt, said) in enumerate(half_knows(seed, n)):
        yield prompt, said.replace("<eos>", "thanks again soon <eos>") if i % 2 else said


def right(completions, answer, **_):
    """1 for the team and nothing else, 0.5 for the team with more words after it."""
    words = [c.replace("<eos>", "").split() for c in completions]
    return [
        float(w == [a]) or 0.5 * float(w[:1] == [a]) for w, a in zip(words, answer, strict=True)
    ]


def make(folder, healthy=True):
    tok = tokenizer()
    model = teach(llama(tok), tok, list(chatty(1, 2000)), steps=120)
    data = [dict(prompt=prompt, answer=team) for prompt, team in rows(3, 600)]
    steps = dict(max_steps=95, per_device_train_batch_size=64, learning_rate=2e-3)
    group = dict(num_generations=8, max_completion_length=6, temperature=1.0, beta=0.0)
    args = GRPOConfig(**quiet(folder, **steps, **group, bf16=False))
    return GRPOTrainer(
        model, right, args, train_dataset=Dataset.from_list(data), processing_class=tok
    )


def score(trainer, folder):
    """Share of new tickets that go to the right team."""
    return accuracy(trainer.model, trainer.processing_class, rows(2, 150))
