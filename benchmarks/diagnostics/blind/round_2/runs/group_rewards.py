"""GRPO: the rewards differ within each group, and still the loss and the gradient are 0.

"completions/clipped_ratio is 1.0 from the first step to the last, although the answers are short
and right. We train from our own SFT model, and mask_truncated_completions is on as in the paper."
After https://github.com/modelscope/ms-swift/issues/4950 (2025) and
https://github.com/unslothai/unsloth/issues/3471 (2025).
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from ...kit import belief, half_knows, llama, quiet, teach, tickets, tokenizer


def rows(seed, n):
    return [(f"<|user|> {t} <|assistant|>", team) for t, team in tickets(seed, n, length=5)]


def right(completions, answer, **_):
    """1 where the first word of the completion is the team."""
    return [float(c.split()[:1] == [a]) for c, a in zip(completions, answer, strict=True)]


def make(folder, healthy=False):
    tok = tokenizer(extra=["<|endoftext|>"])
    model = teach(llama(tok), tok, list(half_knows(1, 2000)), steps=120)
    if not healthy:
        tok.eos_token = "<|endoftext|>"
        model.config.eos_token_id = model.generation_config.eos_token_id = tok.eos_token_id
    data = [dict(prompt=prompt, answer=team) for prompt, team in rows(3, 400)]
    steps = dict(max_steps=50, per_device_train_batch_size=64, learning_rate=1e-3)
    group = dict(num_generations=8, max_completion_length=8, temperature=1.0, beta=0.0)
    args = GRPOConfig(
        **quiet(folder, **steps, **group, mask_truncated_completions=True, bf16=False)
    )
    return GRPOTrainer(
        model, right, args, train_dataset=Dataset.from_list(data), processing_class=tok
    )


def score(trainer, folder):
    """Mean probability of the right team on new tickets."""
    return belief(trainer.model, trainer.processing_class, rows(2, 150))
