"""A run that is resumed behind the end of its schedule with more steps: the rate jumps up."""

import math

import pytest

from tests.helpers.explained import keys

RESUMED = "trainer.train(resume_from_checkpoint=True)  # num_train_epochs=4, was 2"


def rows(rates, losses, begin=1, name="loss"):
    return [
        f"{{'{name}': {loss:.4f}, 'learning_rate': {rate:.5g}, 'epoch': {(begin + n) / 10}}}"
        for n, (rate, loss) in enumerate(zip(rates, losses, strict=True))
    ]


def linear(begin, stop, total, peak=1e-4):
    return [peak * (1 - n / total) for n in range(begin, stop)]


def cosine(begin, stop, total, peak=3e-4):
    return [peak * (1 + math.cos(math.pi * n / total)) / 2 for n in range(begin, stop)]


END = [1.20, 1.18, 1.17, 1.165, 1.16]
BACK = [1.21, 1.23, 1.22, 1.22, 1.21]


@pytest.mark.parametrize(
    "lines",
    [
        (*rows(linear(16, 21, 20), END, 16), RESUMED, *rows(linear(21, 26, 40), BACK, 21)),
        (*rows(cosine(16, 21, 20), END, 16), RESUMED, *rows(cosine(21, 26, 40), BACK, 21)),
        (
            "step 1000 loss 1.17 lr 2.1e-06",
            "step 1020 loss 1.16 lr 0.0",
            "step 1020 eval_loss 1.150",
            "Resuming from step 1020, max_steps 2040",
            "step 1040 loss 1.16 lr 4.9e-05",
            "step 1060 loss 1.15 lr 4.85e-05",
            "step 1060 eval_loss 1.181",
        ),
    ],
)
def test_a_rate_that_is_back_at_half_its_peak_behind_a_resume_heats_the_run_up(lines):
    assert keys(*lines)[0] == "schedule_stretched"


@pytest.mark.parametrize(
    "lines",
    [
        # restarts that the schedule has by itself
        (
            "--lr_scheduler_type cosine_with_restarts --resume_from_checkpoint x",
            *rows(linear(16, 21, 20), END, 16),
            *rows(linear(21, 26, 40), BACK, 21),
        ),
        # nothing is resumed
        (*rows(linear(16, 21, 20), END, 16), *rows(linear(21, 26, 40), BACK, 21)),
        # a resume in the midst of a decay
        (*rows(linear(16, 21, 40), END, 16), RESUMED, *rows(linear(21, 26, 40), BACK, 21)),
        # the loss goes on falling
        (
            *rows(linear(16, 21, 20), END, 16),
            RESUMED,
            *rows(linear(21, 26, 40), [1.15, 1.14, 1.13, 1.12, 1.11], 21),
        ),
        # a warm-up of a new run
        (
            *rows(linear(16, 21, 20), END, 16),
            RESUMED,
            *rows([2e-5, 4e-5, 6e-5, 8e-5, 1e-4], BACK, 21),
        ),
    ],
)
def test_a_rate_that_is_meant_to_rise_or_a_loss_that_falls_is_not(lines):
    assert "schedule_stretched" not in keys(*lines)
