"""Policy runs that learn nothing or too little: a rate of 0, a weight far below 1, noise."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def answer(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n")


def keys(log: list[dict], *before: str) -> list[str]:
    return [one.key for one in answer(log, *before).causes]


WANDERS = {"reward": lambda n: 0.3 + (7 * n % 5) / 90, "grad_norm": 0.31}


@pytest.mark.parametrize(
    ("rewards", "judged", "is_named"),
    [
        (lambda n: 0.3 + n / 9, lambda n: 0.6 - n / 50, True),
        (lambda n: 0.3 + (7 * n % 5) / 90 + n / 9000, lambda n: 0.6 - n / 50, False),
        (lambda n: 0.3 + n / 9, lambda n: 0.6 + (n * 7 % 4) / 300 - n / 5000, False),
    ],
)
@pytest.mark.parametrize("every", [1, 4])
def test_a_cheat_needs_a_reward_and_an_evaluation_that_both_leave_their_noise(
    rewards, judged, is_named, every
):
    log = rows(16, reward=rewards, grad_norm=0.4)
    log = [
        row | ({"eval_accuracy": judged(n)} if n % every == 0 else {}) for n, row in enumerate(log)
    ]
    assert ("proxy_rises_alone" in keys(log)) == is_named


def verl(rate: str, entropy: str = "0.2917") -> str:
    return "\n".join(
        f"step:{n} - actor/entropy:{entropy} - actor/pg_loss:0.00{n} - actor/grad_norm:0.21 - "
        f"actor/lr:{rate} - critic/rewards/mean:0.3{n}"
        for n in range(1, 8)
    )


def test_a_rate_of_0_is_named_with_the_schedule_that_knows_no_steps():
    settings = "optim.lr=2e-6\noptim.lr_scheduler_type=constant\n'num_training_steps': -1,\n"
    one = explain(settings + verl("0.0", "0.29173482")).causes[0]
    assert one.key == "rate_zero" and "num_training_steps" in one.says
    assert "by hand" in one.fix and any("lr=2e-6" in told for told in one.for_it)


def test_a_rate_that_may_be_rounded_or_is_above_0_is_no_rate_of_0():
    assert "rate_zero" not in [one.key for one in explain(verl("0.000", "0.292")).causes]
    assert "rate_zero" not in [one.key for one in explain(verl("1e-06", "0.29173482")).causes]


def test_a_schedule_with_its_steps_is_not_blamed():
    one = explain("num_training_steps: 300\n" + verl("0.0", "0.29173482")).causes[0]
    assert one.key == "rate_zero" and "300" not in one.says and "by hand" not in one.fix


WEIGHED = {
    "reward": lambda n: 0.5 + (n * 3 % 4) / 40,
    "grad_norm": 3e-4,
    "sampling_importance_ratio": lambda n: 0.11 + (n * 5 % 3) / 90,
    "token_mult_prob_error": 1.015,
    "response_length/mean": 4200.0,
}


def test_a_weight_far_below_1_beside_tokens_that_agree_is_a_product_over_the_reply():
    one = answer(rows(7, **WEIGHED)).causes[0]
    assert one.key == "engines_disagree" and "4200 tokens" in one.says and "by token" in one.fix


@pytest.mark.parametrize(
    "change",
    [
        {"sampling_importance_ratio": 0.97},
        {"sampling_importance_ratio": lambda n: 0.25 / 3**n},  # it falls
        {"token_mult_prob_error": 4.1},  # the tokens differ as well
        {"kl": 0.0, "token_mult_prob_error": None},  # nothing is known of the tokens
    ],
)
def test_another_weight_is_no_product(change):
    log = [{k: v for k, v in one.items() if v is not None} for one in rows(7, **WEIGHED | change)]
    assert not any("product" in one.says for one in answer(log).causes)
