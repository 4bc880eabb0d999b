"""Gradients that add up, and gradients that are cut off in the midst of a run."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

FALLS = {"loss": lambda n: 2 - n / 90, "learning_rate": 2e-5}
ADDED = rows(24, **FALLS, grad_norm=lambda n: 1.6 * n + 1.5 + n % 3 / 9)
ENDS = {
    "loss": lambda n: 1.4 - n / 40 if n < 10 else 1.15 + n % 3 / 50,
    "grad_norm": lambda n: 0.9 - n / 30 if n < 10 else 0.0,
    "learning_rate": lambda n: 1e-4 - n * 4e-6,
}


def answer(log: list[dict | str]):
    return explain("\n".join(x if isinstance(x, str) else json.dumps(x) for x in log) + "\n")


def keys(log: list[dict | str]) -> list[str]:
    return [one.key for one in answer(log).causes]


def test_a_norm_that_grows_by_the_same_amount_is_of_gradients_that_add_up():
    assert keys(ADDED)[0] == "gradients_not_cleared"
    tenths = [row | {"step": 10 * row["step"] + 10} for row in ADDED]
    assert keys(tenths)[0] == "gradients_not_cleared"
    no_steps = [{k: v for k, v in row.items() if k != "step"} for row in ADDED]
    assert keys(no_steps)[0] == "gradients_not_cleared"


@pytest.mark.parametrize(
    "norm",
    [
        lambda n: 1.5 + n / 20,  # grows, from its own size on
        lambda n: 1.2**n,  # by a factor
        lambda n: 0.4 + n % 5,  # and falls again
        lambda n: min(1.0, 0.1 * (n + 1)),  # up to the clip
        lambda n: 9 / (n + 1),
        lambda n: (0.4, 1.9, 0.8, 3.1, 2.2, 4.9, 3.0, 7.5)[n % 8] * (1 + n / 12),
    ],
)
def test_a_norm_that_grows_in_another_way_is_not(norm):
    assert "gradients_not_cleared" not in keys(rows(24, **FALLS, grad_norm=norm))


def test_a_norm_that_grows_with_its_loss_is_less_surely_a_sum():
    climbs = [row | {"loss": 2.0 + row["step"] / 2} for row in ADDED]
    assert keys(climbs)[0] == "rate_too_high"


def test_the_middle_of_a_run_shows_no_sum_from_its_start():
    late = [row | {"step": row["step"] + 400} for row in ADDED]
    assert "gradients_not_cleared" not in keys(late)


def test_a_gradient_that_is_cut_off_in_the_midst_is_named_with_what_stood_there():
    log = rows(24, **ENDS)
    saved = "[INFO] Saving model checkpoint to output/checkpoint-10"
    found = answer([*log[:10], saved, *log[10:]]).causes[0]
    assert found.key == "no_gradient" and found.at.where == "line 12"
    assert "Saving model checkpoint" in " ".join(found.for_it)
    judged = {"step": 10, "eval_loss": 1.153821}, {"step": 24, "eval_loss": 1.153821}
    told = answer([*log[:10], judged[0], *log[10:], judged[1]]).causes[0]
    assert told.key == "no_gradient" and "1.154" in " ".join(told.for_it)


@pytest.mark.parametrize(
    "change",
    [
        {"learning_rate": lambda n: 1e-4 if n < 10 else 0.0},  # the schedule is over
        {"loss": lambda n: 1.0 / 9**n},  # nothing left to learn
        {"grad_norm": lambda n: 0.9 if n < 10 or n > 14 else 0.0},  # it comes back
    ],
)
def test_a_gradient_of_0_for_another_reason_is_not(change):
    assert "no_gradient" not in keys(rows(24, **ENDS | change))


def test_groups_without_a_spread_have_no_gradient_and_are_not_cut_off():
    grpo = {"reward": 0.5, "reward_std": lambda n: 0.3 if n < 10 else 0.0}
    assert "no_gradient" not in keys(rows(24, **ENDS, **grpo))
    alive = grpo | {"reward_std": 0.3}
    assert keys(rows(24, **ENDS, **alive))[0] == "no_gradient"
    tied = {"frac_reward_zero_std": lambda n: 0.2 if n < 10 else 1.0}
    assert "no_gradient" not in keys(rows(24, **ENDS, **alive, **tied))
    level = {"critic/advantages/max": lambda n: 1.7 if n < 10 else 0.0}
    assert "no_gradient" not in keys(rows(24, **ENDS, **alive, **level))
