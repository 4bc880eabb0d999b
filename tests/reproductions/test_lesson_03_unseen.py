"""The unseen runs of lesson 03 break where their cases say and log what their tickets say."""

import math

import pytest
from whole import cases

from course_utils.diagnostics import decode_logged_loss
from course_utils.exercises.lesson_03.unseen import JUMPED, STILL
from course_utils.zoo.training import train_and_compare

each_seed = pytest.mark.parametrize("seed", cases((0, 1, 2)))


def trained(case, seed, **changes):
    trainer = case.ticket.trainer(seed=seed, device="cpu", **changes)
    return train_and_compare(trainer), [e for e in trainer.state.log_history if "loss" in e]


@each_seed
def test_the_preference_run_breaks_in_its_output_layer_alone(seed):
    changes, _ = trained(JUMPED, seed, max_steps=1)
    assert tuple(change.name for change in changes if change.num_dead) == JUMPED.broken
    _, log = trained(JUMPED, seed)
    decoded = decode_logged_loss(log[0]["loss"], logging_steps=5, gradient_accumulation_steps=4)
    assert round(log[0]["loss"], 2) == 11.23 and math.isnan(log[0]["grad_norm"])
    assert abs(decoded.mean_loss - math.log(2)) < 1e-3


@each_seed
def test_no_norm_of_the_format_run_moves_and_all_of_it_is_finite(seed):
    changes, log = trained(STILL, seed)
    assert {change.name for change in changes} == set(STILL.broken)
    assert not any(change.num_dead or change.share_moved for change in changes)
    assert all(9 < entry["loss"] < 10.5 and 1 < entry["grad_norm"] < 4 for entry in log)


def test_each_part_is_in_the_name_of_a_broken_tensor():
    for case in (JUMPED, STILL):
        assert all(any(part in name for name in case.broken) for part in case.parts)
