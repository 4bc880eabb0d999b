"""Replies get shorter because they end where the answer does."""

import torch
from torch import nn

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, mean, said, values, zoo_policy

LEFT = 0.2  # what is left of the end token's output row


def exact(completions, answer, **_columns) -> list[float]:
    """1 for the answer and nothing else."""
    return [float(reply == gold) for reply, gold in zip(said(completions), answer, strict=True)]


def rambling_policy() -> nn.Module:
    """The zoo's policy with most of its end token forgotten."""
    policy, end = zoo_policy(), zoo.load_tokenizer("tiny").eos_token_id
    with torch.no_grad():
        policy.get_output_embeddings().weight[end] *= LEFT
    return policy


def make(seed: int) -> Run:
    return grpo(
        seed,
        exact,
        steps=14,
        learning_rate=2e-4,
        make_model=rambling_policy,
        max_completion_length=8,
    )


def holds(run: Run) -> bool:
    lengths, rewards = values(run, "completions/mean_length"), values(run, "reward")
    return mean(lengths[-5:]) < mean(lengths[:5]) - 0.3 and mean(rewards[-5:]) > mean(rewards[:5])


LOOK_ALIKE = LookAlike(
    name="learns_to_stop",
    title="replies become shorter",
    looks="The replies become shorter and shorter, as in a collapse.",
    because="They used to ramble past the answer; the reward rises as they learn to end after it.",
    threads=("VLM-R1#280",),
    make=make,
    holds=holds,
)
