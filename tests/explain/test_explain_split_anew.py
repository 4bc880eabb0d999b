"""A split without a seed that each process draws anew: rows that were trained on are evaluated."""

import pytest

from tests.helpers.explained import first, keys

SPLIT = "parts = rows.train_test_split(test_size=0.1)"
TORCH = "train_set, val_set = random_split(rows, [0.9, 0.1])"
BEFORE = (
    "{'loss': 1.10, 'learning_rate': 8e-05, 'epoch': 1.0}",
    "{'eval_loss': 1.31, 'epoch': 1.0}",
    "{'loss': 0.91, 'learning_rate': 6e-05, 'epoch': 2.0}",
    "{'eval_loss': 1.29, 'epoch': 2.0}",
)
RESTART = "Continuing training from global step 800"
BEHIND = (
    "{'loss': 0.84, 'learning_rate': 4e-05, 'epoch': 2.5}",
    "{'eval_loss': 0.93, 'epoch': 3.0}",
    "{'eval_loss': 0.90, 'epoch': 4.0}",
)
OTHERS = (
    "# train.py",
    TORCH,
    "epoch 3 train_loss 0.31 val_acc 0.702",
    "# evaluate.py, the next day",
    TORCH,
    "$ python evaluate.py --ckpt best.pt",
    "acc 0.961",
    "$ python evaluate.py --ckpt best.pt",
    "acc 0.957",
    "on the server it has acc 0.70",
)


@pytest.mark.parametrize(
    "lines",
    [
        (SPLIT, *BEFORE, RESTART, *BEHIND),
        (TORCH, *BEFORE, "Resuming from checkpoint-800", *BEHIND),
        ("train = df.sample(frac=0.9)", *BEFORE, "restarted the job", *BEHIND),
        (SPLIT, "args = TrainingArguments(out, seed=42)", *BEFORE, RESTART, *BEHIND),
        OTHERS,
    ],
)
def test_a_better_number_of_a_later_process_is_of_rows_that_it_has_seen(lines):
    one = first(*lines)
    assert one.key == "rows_in_both" and "without a seed" in one.says and "seed" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (SPLIT.replace("0.1", "0.1, seed=42"), *BEFORE, RESTART, *BEHIND),
        ("torch.manual_seed(0)", TORCH, *BEFORE, RESTART, *BEHIND),
        ("set_seed(1)", SPLIT, *BEFORE, RESTART, *BEHIND),
        (SPLIT, *BEFORE, RESTART, "{'eval_loss': 1.28, 'epoch': 3.0}"),
        (SPLIT, *BEFORE, *BEHIND),  # one process
        (*OTHERS[:6], "acc 0.705", *OTHERS[9:]),
    ],
)
def test_a_seed_one_process_or_a_number_that_goes_on_is_not(lines):
    assert "rows_in_both" not in keys(*lines)
