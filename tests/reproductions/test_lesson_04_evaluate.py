"""Lesson 04 reads from the logits how often a policy is right, as sampling finds it."""

import torch

from course_utils import zoo
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.reproductions.lesson_04.verl_rollout import generate


def test_the_probability_of_the_right_reply_is_the_share_that_sampling_finds():
    run = VerlGrpo(num_prompts=2, n=2, response_length=8, device="cpu")
    sums = zoo.arithmetic.prompts(32, 0, level="hard", split="test")
    sampled = generate(
        run.reference,
        run.tokenizer,
        sums,
        n=16,
        response_length=8,
        temperature=1.0,
        generator=torch.Generator().manual_seed(0),
    )
    assert abs(run.evaluate(run.reference) - sampled.scores.mean().item()) < 0.07


def test_a_policy_with_nan_has_no_probability_of_a_right_reply():
    run = VerlGrpo(num_prompts=2, n=2, response_length=8, device="cpu")
    with torch.no_grad():
        next(run.actor.parameters()).fill_(torch.nan)
    assert run.evaluate() == 0
