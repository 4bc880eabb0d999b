"""max_steps beside num_train_epochs: a run that ends within its first epoch."""

import pytest

from tests.helpers.explained import first, keys

FALLS = [
    f"{{'loss': {1.7 - n / 10:.2f}, 'learning_rate': {2e-4 * (1 - n / 6):.4g}, 'epoch': 0.0{n}}}"
    for n in range(1, 7)
]
SUMMARY = "{'train_runtime': 410.2, 'train_loss': 1.31, 'epoch': 0.06}"
PLAN = (
    "  Num examples = 38,412",
    "  Total train batch size (w. parallel, distributed & accumulation) = 16",
    "  Total optimization steps = 100",
)


@pytest.mark.parametrize(
    "lines",
    [
        ("args = SFTConfig(num_train_epochs=3, max_steps=100, bf16=True)", *FALLS, SUMMARY),
        ("num_epochs: 4", "max_steps: 100", *FALLS),  # the rate is at its end
        ("python sft.py --num_train_epochs 2 --max_steps 100", *PLAN),
        ("train.py --epochs 2 --max_steps 100", *FALLS[:4], "100%|####| 100/100 [04:10<00:00]"),
    ],
)
def test_max_steps_wins_over_the_epochs(lines):
    one = first(*lines)
    assert one.key == "few_steps" and "wins over" in one.says and "max_steps" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        # commented out, so that steps alone are asked for
        ("args = SFTConfig(", "    # num_train_epochs=1,", "    max_steps=100)", *FALLS, SUMMARY),
        ("num_train_epochs=3, max_steps=-1", *FALLS, SUMMARY),
        ("num_train_epochs=3.0, max_steps=100,", "past_index=-1,", *FALLS, SUMMARY),
        ("--num_train_epochs 3 --max_steps 9000", *FALLS, SUMMARY.replace("0.06", "2.9")),
        ("a smoke test", "--num_train_epochs 3 --max_steps 100", *FALLS, SUMMARY),
    ],
)
def test_steps_that_are_meant_or_do_not_bind_are_not(lines):
    assert "few_steps" not in keys(*lines)
