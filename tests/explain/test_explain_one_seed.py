"""Groups whose replies are all one: a seed in each request, or no sampling at all."""

import pytest

from tests.helpers.explained import first

DEAD = [f"step {n} reward/mean 0.4{n} grad_norm 0.0 reward_std 0.0" for n in range(1, 7)]
ALIVE = [f"step {n} reward/mean 0.4{n} grad_norm 0.3 reward_std 0.2{n}" for n in range(1, 7)]
DUMP = ["lens 311 311 311 311", "lens 87 87 87 87", "lens 640 640 640 640"]
SEEDED = "    sp = SamplingParams(temperature=1.0, max_tokens=1024, seed=42)"
COPIES = "    prompts = [p for p in prompts for _ in range(4)]"


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


COUNTS = [
    f"step {n}: samples 128  unique prompts 16  unique responses {17 + n % 2}" for n in range(3)
]


def test_a_count_of_different_replies_shows_it_without_an_entry():
    lines = ['body = {"temperature": 1.0, "top_p": 1.0, "seed": 9}', "grpo rollouts", *COUNTS]
    one = first(*lines)
    assert one.key == "no_signal" and "unique responses 17" in " ".join(one.for_it)


def test_prompts_of_which_all_replies_are_right_or_none_show_it():
    row = "solved per prompt (of 4): 4 0 0 4 4 0"
    assert first(SEEDED, "rollouts of grpo", row).key == "no_signal"
    assert first(SEEDED, "rollouts of grpo", row.replace("4 4 0", "3 4 1")) is None


@pytest.mark.parametrize("number", [96, 128])
def test_replies_that_differ_are_not_accused(number):
    told = [one.replace("responses 17", f"responses {number}") for one in COUNTS[:1]]
    assert first('{"temperature": 1.0, "top_p": 1.0, "seed": 9}', "grpo rollouts", *told) is None


def tied(share: float, reward: float) -> list[str]:
    return [
        f"{{'loss': 0.0, 'reward': {reward}, 'frac_reward_zero_std': {share}, 'reward_std': 0.01}}"
        for _ in range(4)
    ]


def test_a_top_k_of_1_beside_groups_that_are_all_tied_samples_nothing():
    one = first("top_k: 1", "temperature: 0.9", *tied(0.97, 0.4))
    assert "top_k" in one.says and "top_k" in one.fix


@pytest.mark.parametrize("lines", [tied(0.4, 0.4), tied(0.97, 0.98)])
def test_a_top_k_of_1_is_not_blamed_for_groups_that_differ_or_are_full(lines):
    one = first("top_k: 1", *lines)
    assert one is None or "not sampled" not in one.says
