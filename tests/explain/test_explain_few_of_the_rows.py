"""A limit of steps left in from a recipe, beside the rows that it leaves out."""

import pytest

from tests.helpers.explained import first, keys

BANNER = [
    "***** Running training *****",
    "  Num examples = 73,904",
    "  Total train batch size (w. parallel, distributed & accumulation) = 16",
]
LOSSES = [f"{{'loss': {1.4 - n / 50:.3f}, 'grad_norm': 0.4, 'epoch': 0.0}}" for n in range(8)]
SUMMARY = "{'train_runtime': 300.0, 'train_samples_per_second': 5.0, 'epoch': 0.01}"
BLANK = "it answers as the base model does and has not learnt our terms"


@pytest.mark.parametrize(
    "lines",
    [
        [BLANK, "max_steps=60,", *BANNER, *LOSSES],
        ["python sft.py --max_steps 100 \\", "  --num_train_epochs 2 \\", *BANNER, *LOSSES],
        ["max_steps: 60", "# num_epochs: 3", *LOSSES, SUMMARY, BLANK],
        [
            "max_steps = 100",
            "max_steps is given, it will override any value given in num_train_epochs",
            *BANNER,
            *LOSSES,
        ],
        ["I have 52k instructions", "max_steps = 60", *LOSSES, SUMMARY, "do I need more data?"],
    ],
)
def test_a_limit_that_reads_a_hundredth_of_the_rows_is_named(lines):
    found = first(*lines)
    assert found.key == "few_steps"
    assert "max_steps" in found.fix
    assert "num_train_epochs" in found.fix


@pytest.mark.parametrize(
    "lines",
    [
        ["max_steps=60,", *BANNER, *LOSSES],  # what was meant, as far as the paste tells
        [BLANK, "this is a smoke test", "max_steps=60,", *BANNER, *LOSSES],
        [BLANK, "max_steps=-1, num_train_epochs=2", *BANNER, *LOSSES],
        [BLANK, "# max_steps=60,", *BANNER, *LOSSES],
        [BLANK, "max_steps=900,", *BANNER, *LOSSES],  # a fifth of an epoch
        [BLANK, "max_steps=60,", "  Num examples = 400", BANNER[2], *LOSSES],
        [BLANK, "max_steps=60", *(f"{{'reward': 0.{n}, 'kl': 0.0{n}}}" for n in range(1, 8))],
    ],
)
def test_a_trial_a_limit_that_is_off_and_a_long_run_are_not_accused(lines):
    assert "few_steps" not in keys(*lines)
