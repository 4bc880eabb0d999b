"""What `train_and_compare` says of a run's weights is true in every format and optimizer."""

import pytest

from course_utils.reproductions.lesson_03.reward_model import reward_trainer
from course_utils.zoo.training import train_and_compare


def head(**changes):
    trained = train_and_compare(reward_trainer(device="cpu", **changes))
    return next(change for change in trained if "score" in change.name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_weight_of_a_wide_head_moves_by_two_learning_rates(dtype):
    change = head(dtype=dtype)
    assert change.share_moved == 1 and 1.5 < change.largest_move < 2.5
    assert change.keeps_squares and change.share_forgotten == 0
    assert 0 < change.largest_share < 0.01


def test_sgd_keeps_no_squares():
    assert not head(dtype="float32", optim="sgd").keeps_squares


def test_fused_adamw_forgets_in_float16_and_an_unused_weight_is_not_forgotten():
    assert head(optim="adamw_torch_fused").share_forgotten > 0
    trained = train_and_compare(reward_trainer(device="cpu", dtype="float32", max_steps=1))
    assert all(change.share_forgotten == 0 for change in trained)  # lora_A's gradient is 0 at first


def test_auto_is_the_format_of_the_reports_checkpoint():
    assert head(dtype="auto").dtype == "bfloat16"
