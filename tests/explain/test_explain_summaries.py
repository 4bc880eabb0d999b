"""The summary of a resumed run is explained, and is none of its losses."""

import pytest

from tests.helpers.explained import answer

BEGUN = "  Continuing training from global step 600"
PLAN = "  Num examples = 8,000 | Total optimization steps = 800"
OVER = (
    "{{'train_runtime': 400.0, 'train_samples_per_second': 20.0, 'train_steps_per_second': 2.0, "
    "'train_loss': {}, 'epoch': 1.0}}"
)


def entries(first: int, *losses: float, rate: float = 1e-5) -> list[str]:
    return [
        f"{{'loss': {loss}, 'learning_rate': {rate}, 'epoch': {(first + 50 * n) / 800}}}"
        for n, loss in enumerate(losses)
    ]


OLD = entries(50, 1.9, 1.7, 1.6, 1.52, 1.46, 1.4, 1.36, 1.33, 1.3, 1.28, 1.26, 1.24)
NEW = entries(650, 1.24, 1.2, 1.22, 1.18)


def test_a_low_train_loss_behind_a_resume_is_explained_with_its_sum():
    one = answer(PLAN, *OLD, BEGUN, *NEW, OVER.format(0.3025))
    found = one.no_faults[0]
    assert one.is_healthy and found.key == "summary_of_a_resume"
    assert "0.3025 x 800 / 200 = 1.21" in found.for_it[0]
    assert any("train_samples_per_second 20 x 200 / 800 = 5" in told for told in found.for_it)


def test_the_steps_of_the_run_follow_from_its_speed_where_no_plan_is_shown():
    one = answer("resumed from out/checkpoint-600", *NEW, OVER.format(0.3025))
    assert one.no_faults[0].key == "summary_of_a_resume"


@pytest.mark.parametrize(
    "lines",
    [
        (*OLD, *NEW, OVER.format(1.37)),  # nothing is resumed
        (*OLD, BEGUN, *NEW, OVER.format(1.21)),  # it is the mean
        (*OLD, BEGUN, *NEW, OVER.format(0.1)),  # of no part of the run
        (*OLD, BEGUN, *entries(650, 1.6, 1.6, 1.6, 1.6), OVER.format(0.4)),  # the loss jumps
        (*OLD, BEGUN, *entries(650, 1.24, 1.2, 1.22, 1.18, rate=1e-4), OVER.format(0.3025)),
    ],
)
def test_another_summary_is_not(lines):
    assert "summary_of_a_resume" not in [one.key for one in answer(PLAN, *lines).findings]


TRACKED = ("wandb:  train/epoch 1.0", "wandb:  train/loss 1.18", "wandb:  train_loss 0.3025")


@pytest.mark.parametrize("over", [(OVER.format(0.3025),), ()])
def test_what_a_tracker_says_of_the_whole_run_is_no_loss_of_it(over):
    one = answer(*OLD, *NEW, *over, "wandb: Run summary:", *TRACKED)
    assert 0.3025 not in [entry.numbers.get("loss") for entry in one.entries]


def test_the_train_loss_of_each_epoch_is_a_loss():
    rows = [f"{{'epoch': {n}, 'train_loss': {2 - n / 4}, 'eval_loss': 1.9}}" for n in range(1, 5)]
    assert len(answer(*rows).entries) == 4


LEVEL = entries(500, 1.3, 1.31, 1.3, 1.31, 1.3, 1.3)
NEXT = entries(820, 1.1, 1.11, 1.1, 1.1)


@pytest.mark.parametrize(
    ("between", "behind", "is_told"),
    [((), NEXT, True), (("[...]",), NEXT, False), ((), entries(1700, 1.1, 1.11, 1.1, 1.1), False)],
)
def test_a_fall_at_an_epoch_is_not_claimed_across_what_is_left_out(between, behind, is_told):
    found = [one.key for one in answer(*LEVEL, *between, *behind).no_faults]
    assert ("falls_by_epochs" in found) == is_told
