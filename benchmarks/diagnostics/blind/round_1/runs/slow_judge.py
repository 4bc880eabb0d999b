"""GRPO with my own judge: the reward wobbles around its first value and never goes up.

The reward function sends each completion to a judge (here a stub that takes a few milliseconds, in
real life an HTTP service), and I call it in threads so that the GPUs need not wait. The judge is
right, I checked it on hundreds of replies. reward_std is healthy, frac_reward_zero_std is low, the
KL and grad_norm look alive. After 60 steps the model is where it began, or worse. With the judge
called one by one a colleague's run of the same task learned at once, he thinks that it is luck.

Source: kyegomez/swarms#1896 (2026-08-17, the same mistake in a pool of judges),
huggingface/trl#4567 (2025-12, parallel reward functions), trl#6680 (2026-08-08, the layout of the
call).
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind.round_1 import kit


def judge(text, team, wait):
    time.sleep(wait)
    return float(text.split()[:1] == [team])


def make(folder, healthy=False):
    tok = kit.tokenizer()
    tok.padding_side = "left"
    rng = random.Random(8)
    model = kit.teach(kit.llama(tok), tok, [*kit.half_knows(1, 2000)], steps=150)

    def helpfulness(completions, team, **kwargs):
        with ThreadPoolExecutor(8) as pool:
            waits = [rng.uniform(0.0, 0.004) for _ in completions]
            jobs = [pool.submit(judge, *job) for job in zip(completions, team, waits, strict=True)]
            return [job.result() for job in (jobs if healthy else as_completed(jobs))]

    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "team": team}
        for t, team in kit.tickets(2, 800, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=60),
        per_device_train_batch_size=48,
        num_generations=8,
        max_completion_length=2,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=helpfulness,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets (0.46 before training)."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
