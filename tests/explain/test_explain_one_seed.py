"""Groups whose replies are all one: a seed in each request, or no sampling at all."""

import pytest

from course_utils.explain import explain

DEAD = [f"step {n} reward/mean 0.4{n} grad_norm 0.0 reward_std 0.0" for n in range(1, 7)]
ALIVE = [f"step {n} reward/mean 0.4{n} grad_norm 0.3 reward_std 0.2{n}" for n in range(1, 7)]
DUMP = ["lens 311 311 311 311", "lens 87 87 87 87", "lens 640 640 640 640"]
SEEDED = "    sp = SamplingParams(temperature=1.0, max_tokens=1024, seed=42)"
COPIES = "    prompts = [p for p in prompts for _ in range(4)]"


def first(*lines: str):
    return next(iter(explain("\n".join([*lines, ""])).causes), None)


@pytest.mark.parametrize(
    "lines",
    [
        [SEEDED, COPIES, *DEAD],
        [SEEDED, *DEAD, *DUMP],
        ["sampling_params: {temperature: 1.0, n: 1, seed: 7}", *DEAD],
        ["rollout:", "  temperature: 1.0", "  n: 1", "  seed: 7", "  top_p: 1.0", *DEAD],
        ['{"model": "m", "prompt": p, "temperature": 0.9, "seed": 3, "n": 1}', *DEAD, *DUMP],
    ],
)
def test_a_seed_in_each_request_makes_the_replies_of_a_group_one(lines):
    one = first(*lines)
    assert one.key == "no_signal" and "seed" in one.says and "request" in one.fix


def test_replies_that_are_not_sampled_are_one_as_well():
    one = first("gen_kwargs: do_sample=False", *DEAD, *DUMP)
    assert one.key == "no_signal" and "not sampled" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [SEEDED.replace("seed=42", "seed=42 + i"), COPIES, *DEAD],
        ["trainer.seed: 42", COPIES, *DEAD],
        ["seed: 42", *DEAD],
        ["eval sampling: temperature=0, seed: 1", COPIES, *DEAD],
    ],
)
def test_a_seed_of_the_run_or_one_for_each_copy_is_no_cause(lines):
    one = first(*lines)
    assert one is None or "seed" not in one.says


def test_groups_with_a_spread_are_not_accused():
    assert first(SEEDED, COPIES, *ALIVE) is None
