"""The simulated log is the real Trainer's, and the decoder is its inverse."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from course_utils.diagnostics.logged_loss import decode_logged_loss, simulate_logged_loss
from course_utils.errors import BadRequest, ShapeMismatch
from course_utils.zoo import training


class Says(nn.Module):
    """A model whose losses are a list that was written in advance."""

    def __init__(self, losses):
        super().__init__()
        self.weight, self.losses = nn.Parameter(torch.zeros(1)), iter(losses)

    def forward(self, x):
        return {"loss": next(self.losses) + 0 * self.weight.sum()}


def logged_by_the_trainer(losses, folder, n, g):
    settings = dict(logging_steps=n, gradient_accumulation_steps=g, per_device_train_batch_size=1)
    settings |= dict(max_steps=len(losses) // g, learning_rate=0.0, optim="sgd", use_cpu=True)
    config = TrainingArguments(**(training.quiet_config() | settings | {"output_dir": folder}))
    data = [{"x": torch.zeros(1)}] * len(losses)
    trainer = Trainer(Says(losses), config, train_dataset=data)
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


@pytest.mark.parametrize(
    ("n", "g", "num_healthy"),
    [(5, 4, 1), (5, 1, 2), (1, 8, 3), (10, 3, 0), (4, 16, 6), (25, 32, 1)],
)
def test_the_simulation_logs_what_the_real_trainer_logs(n, g, num_healthy, tmp_path):
    losses = np.random.default_rng(0).uniform(0.1, 3.0, 2 * n * g)
    losses[num_healthy * g :] = math.nan
    real = logged_by_the_trainer(losses.tolist(), tmp_path, n, g)
    ours = simulate_logged_loss(losses, logging_steps=n, gradient_accumulation_steps=g)
    assert len(real) == 2
    np.testing.assert_allclose(ours, real, rtol=1e-6)


def test_a_nan_in_the_middle_of_a_step_and_an_inf_are_imitated_too(tmp_path):
    losses = [1.0, 2.0, math.nan, 0.5, math.inf, 1.5, 2.5, 0.25]
    real = logged_by_the_trainer(losses, tmp_path, 2, 2)
    ours = simulate_logged_loss(losses, logging_steps=2, gradient_accumulation_steps=2)
    np.testing.assert_allclose(ours, real, rtol=1e-6)


def test_an_overflowing_sum_is_inf_once_and_nan_ever_after(tmp_path):
    losses = [0.7] * 64 + [math.nan] * 64 * 49
    real = logged_by_the_trainer(losses, tmp_path, 25, 64)
    ours = simulate_logged_loss(losses, logging_steps=25, gradient_accumulation_steps=64)
    assert real[0] == ours[0] == math.inf
    assert math.isnan(real[1]) and math.isnan(ours[1])


@pytest.mark.parametrize(
    ("n", "g", "num_healthy"), [(25, 32, 1), (25, 8, 1), (10, 16, 4), (7, 1, 7)]
)
def test_decoding_gives_back_the_mean_loss_of_the_healthy_steps(n, g, num_healthy):
    losses = np.random.default_rng(1).uniform(0.1, 3.0, n * g)
    losses[num_healthy * g :] = math.nan
    (logged,) = simulate_logged_loss(losses, logging_steps=n, gradient_accumulation_steps=g)
    found = decode_logged_loss(
        logged, logging_steps=n, gradient_accumulation_steps=g, nan_from_step=num_healthy + 1
    )
    assert found.mean_loss == pytest.approx(losses[: num_healthy * g].mean(), rel=1e-4)


def test_the_reported_number_is_ln_2_for_25_logging_steps_and_for_no_neighbour():
    def decoded(n):
        return decode_logged_loss(
            1.19e34, logging_steps=n, gradient_accumulation_steps=32
        ).mean_loss

    assert decoded(25) == pytest.approx(math.log(2), rel=0.05)
    assert decoded(24) > 2 and decoded(26) < 0.3


def test_the_table_shows_which_assumption_gives_a_plausible_loss():
    found = decode_logged_loss(1.19e34, logging_steps=25, gradient_accumulation_steps=32)
    assert [row[0] for row in found.table().rows] == ["1", "2", "3", "4", "5"]
    assert found.to_dict()["mean_loss"] == found.mean_loss


def test_an_ordinary_loss_is_not_taken_apart():
    found = decode_logged_loss(1.7328, logging_steps=25, gradient_accumulation_steps=32)
    assert found.is_ordinary and not found.points_to_filter and found.fix == ""
    assert "nothing points to a filter" in found.headline and "9.78e-35" in found.headline
    assert "32 micro-batches (of 0.0541 each)" in found.headline


def test_an_ordinary_number_that_the_filter_could_have_made_keeps_the_doubt():
    found = decode_logged_loss(2.2, logging_steps=10, gradient_accumulation_steps=1)
    assert found.is_ordinary and "cannot be excluded" in found.headline
    assert f"a mean of {found.mean_loss:.3g}" in found.headline


def test_the_reported_number_points_to_the_filter_with_cause_and_fix():
    found = decode_logged_loss(1.19e34, logging_steps=25, gradient_accumulation_steps=32)
    assert found.points_to_filter
    assert "\nfix: logging_nan_inf_filter=False" in found.text()


def test_a_sum_over_micro_batches_and_what_is_no_loss_at_all_are_called_so():
    summed = decode_logged_loss(44.0, logging_steps=10, gradient_accumulation_steps=16)
    assert "a sum that was not divided" in summed.headline and "2.75" in summed.headline
    neither = decode_logged_loss(5e5, logging_steps=10, gradient_accumulation_steps=1)
    assert "does not explain it" in neither.headline and neither.cause == ""


@pytest.mark.parametrize(
    ("logged", "nan_from_step"), [(0.0, 2), (math.nan, 2), (math.inf, 2), (1.0, 1), (1.0, 27)]
)
def test_what_cannot_be_decoded_is_refused(logged, nan_from_step):
    with pytest.raises(BadRequest):
        decode_logged_loss(
            logged, logging_steps=25, gradient_accumulation_steps=32, nan_from_step=nan_from_step
        )


def test_half_an_optimizer_step_is_refused():
    with pytest.raises(ShapeMismatch, match="3 losses"):
        simulate_logged_loss([1.0] * 3, logging_steps=1, gradient_accumulation_steps=2)
