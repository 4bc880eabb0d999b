"""A rate that is asked for anew at a resume, and is above it in what is logged."""

import pytest

from tests.helpers.explained import first

ASKED = "python train.py --lr 3e-5 --epochs 4 --resume runs/7/last.pt"
LOADED = "Loaded optimizer and scheduler states from runs/7/last.pt"
CONSTANT = [f"step {n} loss 1.{40 - n // 100} lr 3.00e-04" for n in range(900, 1500, 100)]
TRAINER = "accelerate launch a.py --learning_rate 5e-6 --resume_from_checkpoint out/checkpoint-800"
GOES_ON = "  Continuing training from global step 800"
FALLING = [
    f"{{'loss': 1.3{n}, 'grad_norm': 0.9, 'learning_rate': {8e-5 * (1 - n / 8)}, 'epoch': 1.{n}}}"
    for n in range(8)
]
BETWEEN = [
    "step 100 loss 2.10 lr 1.0e-04",
    "step 200 loss 1.90 lr 1.0e-04",
    "$ python train.py --lr 2e-5 --resume ckpt/200",
    "step 300 loss 1.80 lr 1.0e-04",
    "step 400 loss 1.75 lr 1.0e-04",
]


@pytest.mark.parametrize(
    "lines",
    [
        (ASKED, LOADED, *CONSTANT),
        (ASKED, *CONSTANT),
        (TRAINER, GOES_ON, *FALLING),  # though it falls below what was asked for at last
        BETWEEN,
    ],
)
def test_a_rate_above_the_one_that_is_asked_for_came_with_the_checkpoint(lines):
    one = first(*lines)
    assert one.key == "rate_not_asked" and "brings back optimizer and schedule" in one.says
    assert "weights" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ("python train.py --lr 3e-5", *CONSTANT),  # nothing is resumed
        (ASKED.replace("3e-5", "3e-4"), LOADED, *CONSTANT),
        (ASKED, "--loraplus_lr_ratio 16", LOADED, *CONSTANT),
        (ASKED, LOADED, *(one.replace("3.00e-04", "2.9e-05") for one in CONSTANT)),
        ("python train.py --lr 3e-5 --resume none", *CONSTANT),
    ],
)
def test_a_rate_that_is_in_force_or_has_another_reason_is_not(lines):
    one = first(*lines)
    assert one is None or one.key != "rate_not_asked"
