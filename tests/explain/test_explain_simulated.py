"""Simulated logs of healthy runs, noisy as real ones are: `course explain` accuses none of them."""

import json
import math
import random
from collections.abc import Iterator

import pytest

from course_utils.explain import explain

NUM_RUNS, LENGTHS = 40, (6, 12, 25, 60)
Rows = Iterator[dict]


def sft(noise: random.Random, count: int) -> Rows:
    """Falls by a third or more, with a warm-up and a cosine, over three epochs."""
    start, share = noise.uniform(0.8, 2.5), noise.uniform(0.3, 0.8)
    rate, warm = noise.choice([1e-5, 2e-5, 1e-4, 2e-4]), max(1, count // 10)
    for n in range(count):
        done = n / count
        fallen = start * (share + (1 - share) * math.exp(-4 * done))
        yield {
            "loss": round(fallen + noise.gauss(0, 0.05 * start), 4),
            "grad_norm": abs(noise.gauss(0.6, 0.25)) + 0.05,
            "learning_rate": rate * min(1, (n + 1) / warm) * (1 + math.cos(math.pi * done)) / 2,
            "mean_token_accuracy": 0.6 + 0.1 * done + noise.gauss(0, 0.02),
            "entropy": 1.2 - 0.3 * done + noise.gauss(0, 0.1),
            "epoch": round(3 * done, 2),
        }


def grpo(noise: random.Random, count: int) -> Rows:
    """The reward rises, the entropy falls a little, replies change their length either way."""
    first, gain = noise.uniform(0.1, 0.6), noise.uniform(0.05, 0.35)
    tokens, growth = noise.uniform(150, 800), noise.uniform(-0.2, 0.4)
    for n in range(count):
        done = n / count
        reward = min(1.0, max(0.0, first + gain * done + noise.gauss(0, 0.08)))
        yield {
            "loss": noise.gauss(0, 0.01),
            "grad_norm": abs(noise.gauss(0.3, 0.15)) + 0.01,
            "learning_rate": 1e-6 * min(1, (n + 1) / 5),
            "reward": reward,
            "reward_std": max(0.01, noise.gauss(0.35, 0.08)),
            "frac_reward_zero_std": min(1.0, max(0.0, noise.gauss(0.25, 0.12))),
            "rewards/accuracy_reward/mean": 0.7 * reward,
            "rewards/format_reward/mean": 0.3 * reward,
            "completions/mean_length": tokens * (1 + growth * done) + noise.gauss(0, 25),
            "completions/clipped_ratio": max(0.0, noise.gauss(0.05, 0.03)),
            "entropy": max(0.05, 0.5 - 0.15 * done + noise.gauss(0, 0.05)),
            "kl": 3e-4 + 0.03 * done * noise.uniform(0.5, 1.5),
            "sampling/importance_sampling_ratio/mean": 1 + noise.gauss(0, 0.004),
            "sampling/sampling_logp_difference/mean": abs(noise.gauss(0.012, 0.004)),
        }


def dpo(noise: random.Random, count: int) -> Rows:
    """The margin grows from 0; the chosen reward moves a little, either way."""
    margin, drift = noise.uniform(0.3, 2.5), noise.uniform(-0.6, 0.3)
    for n in range(count):
        done = n / count
        won = (margin * done + noise.gauss(0, 0.05 * margin)) if n else 0.0
        chosen = (drift * done + noise.gauss(0, 0.05)) if n else 0.0
        yield {
            "loss": math.log1p(math.exp(-won)),
            "grad_norm": abs(noise.gauss(4, 1.5)) + 0.1,
            "learning_rate": 5e-7 * min(1, (n + 1) / 8),
            "rewards/chosen": chosen,
            "rewards/rejected": chosen - won,
            "rewards/margins": won,
            "rewards/accuracies": min(1.0, max(0.0, 0.5 + 0.3 * done + noise.gauss(0, 0.07))),
        }


def verl(noise: random.Random, count: int) -> Rows:
    """The same as GRPO, under verl's names."""
    for n, row in enumerate(grpo(noise, count), 1):
        yield {
            "step": n,
            "actor/pg_loss": row["loss"],
            "actor/grad_norm": row["grad_norm"],
            "actor/lr": 1e-6,
            "actor/entropy": row["entropy"],
            "actor/kl_loss": row["kl"],
            "actor/pg_clipfrac": abs(noise.gauss(0.002, 0.001)),
            "critic/score/mean": row["reward"],
            "critic/advantages/max": 2.4,
            "response_length/mean": row["completions/mean_length"],
            "response_length/clip_ratio": row["completions/clipped_ratio"],
        }


@pytest.mark.parametrize("run", [sft, grpo, dpo, verl], ids=lambda run: run.__name__)
def test_no_simulated_healthy_run_is_accused(run):
    for seed in range(NUM_RUNS):
        noise = random.Random(seed)
        answer = explain([f"{json.dumps(row)}\n" for row in run(noise, noise.choice(LENGTHS))])
        assert not answer.causes, f"seed {seed}: {answer}"
