"""Lesson 08: over splits, ranks and loss types the gradient is the same, or it is not; five seeds.

Two processes are forked once.
"""

import sys

import pytest
import torch
from accelerate.state import AcceleratorState, PartialState
from transformers import Trainer
from whole import cases

from course_utils.diagnostics import compare_splits
from course_utils.diagnostics.splits.stepping import TrainerStep, left_as_it_was
from course_utils.exercises.lesson_08.mend import mended
from course_utils.reproductions.lesson_08 import (
    batch_loss,
    batch_trainers,
    batch_training,
    batch_trl,
    length_bias,
    two_ranks,
)
from course_utils.reproductions.lesson_08.batch_loss import distance
from course_utils.reproductions.lesson_08.batch_trainers import with_loss
from course_utils.reproductions.lesson_08.batch_training import WEIGHTINGS, learn
from course_utils.shown.report import Table
from tests.answers.lesson_08 import mend as mends

SEEDS = cases(range(5))
BY_HAND, MENDS = batch_trainers.__name__, mends.__name__
# What is launched, the Trainer, and whether it is the same as in one process.
LAUNCHED = {
    "transformers:Trainer,1": (Trainer, True),
    "transformers:Trainer,4": (Trainer, True),
    "transformers:Trainer,8,local": (Trainer, False),
    f"{BY_HAND}:MeanToldSo,1": (batch_trainers.MeanToldSo, False),
    f"{BY_HAND}:Mean,2": (batch_trainers.Mean, False),
    f"{BY_HAND}:RanksForgotten,1": (batch_trainers.RanksForgotten, False),
    f"{MENDS}:mended,1": (with_loss(mended), True),
    f"{MENDS}:from_the_environment,4": (with_loss(mends.from_the_environment), True),
    f"{MENDS}:of_world_size,2": (with_loss(mends.of_world_size), True),
}


def whose(what: str) -> tuple[str, bool]:
    """Who wrote its Trainer, and whether it is the same as in one process."""
    return what.partition(":")[0], LAUNCHED[what][1]


TAKEN = cases(LAUNCHED, whose)
gloo = pytest.mark.skipif(sys.platform != "linux", reason="gloo")


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """What two processes found that were forked here; the lesson itself launches them."""
    file = tmp_path_factory.mktemp("ranks") / "two_ranks.pt"
    for state in (AcceleratorState, PartialState):
        state._reset_state()  # of Trainers that were alone
    with pytest.raises(SystemExit) as ended:
        two_ranks.main(str(file), "0", *TAKEN)
    assert not ended.value.code
    return torch.load(file)


def dealt(rows, size: int):
    """The rows of each rank as a Trainer deals them: micro-batches in turn."""
    micro = [rows[at : at + size] for at in range(0, len(rows), size)]
    return [micro[rank::2] for rank in range(2)]


def played(what: str):
    """The same step, its ranks played in this process, and the rows all at once in one."""
    cls, rows = LAUNCHED[what][0], two_ranks.by_length()
    _, size, *local = what.split(",")
    trainer = batch_loss.trainer(cls, rows, average_tokens_across_devices=not local)
    step = TrainerStep(trainer)
    with left_as_it_was(step):
        both = step(dealt(rows, int(size)))
        return both, step([[rows]])


@gloo
@pytest.mark.parametrize("what", TAKEN)
def test_a_played_rank_gives_what_a_real_one_gives(real, what):
    both, whole = played(what)
    gradient, is_same = real[what]["gradient"], LAUNCHED[what][1]
    assert distance(both.gradient_N, gradient) < 1e-5
    assert both.logged == pytest.approx(real[what]["loss"], rel=1e-4)
    assert (distance(gradient, whole.gradient_N) < 5e-6) is is_same


@gloo
def test_a_prepared_schedule_of_optimizer_steps_ends_half_way(real):
    assert real["processes"] == 2
    assert real["lr"][True][5:] == [0.0] * 7
    assert real["lr"][False][5] == pytest.approx(0.5) and real["lr"][False][11] == 0


ROWS = batch_loss.mixed_rows(0, long=2, short=6)
SIZES = {"sizes": (2, 1)}


def of_grpo(loss_type):
    trainer = batch_trl.grpo_trainer(loss_type)
    return compare_splits(batch_trl.grpo_step(trainer), ROWS, model=trainer.model, **SIZES)


def of_dpo(*loss_types):
    trainer = batch_trl.dpo_trainer(*loss_types)
    return compare_splits(trainer, list(trainer.train_dataset), **SIZES)


def of_sft():
    return compare_splits(batch_trl.sft_trainer(), **SIZES)


def of(cls, **settings):
    return compare_splits(batch_loss.trainer(cls, ROWS, **settings), ROWS, **SIZES)


MEASURED = {
    "Trainer": (lambda: of(Trainer), True),
    "Trainer, label smoothing": (lambda: of(Trainer, label_smoothing_factor=0.1), True),
    "a mean": (lambda: of(batch_trainers.Mean), False),
    "a mean, told so": (lambda: of(batch_trainers.MeanToldSo), False),
    "sum / count of all ranks": (lambda: of(batch_trainers.RanksForgotten), False),
    "mended": (lambda: of(with_loss(mended)), True),
    "SFT": (of_sft, True),
    "DPO, sigmoid": (lambda: of_dpo("sigmoid"), True),
    "DPO, sigmoid + sft": (lambda: of_dpo("sigmoid", "sft"), False),
    "GRPO, grpo": (lambda: of_grpo("grpo"), True),
    "GRPO, dr_grpo": (lambda: of_grpo("dr_grpo"), True),
    "GRPO, dapo": (lambda: of_grpo("dapo"), True),
    "GRPO, bnpo": (lambda: of_grpo("bnpo"), False),
}


def kind(name: str) -> tuple[str, bool]:
    """The trainer, and whether it depends on the split; not which of its losses."""
    return name.partition(",")[0], MEASURED[name][1]


def test_the_table_of_equal_gradients(capsys):
    rows, splits = [], ("2 x 4", "1 x 8", "4 x 1, 2 ranks", "2 x 2, 2 ranks", "1 x 4, 2 ranks")
    for name in cases(MEASURED, kind):
        measure, is_same = MEASURED[name]
        found = measure()
        assert found.is_healthy is is_same, f"{name}\n{found}"
        off = {one.name: f"{one.distance:.1g}" for one in found.compared}
        rows.append((name, "yes" if is_same else "no", *(off.get(split, "") for split in splits)))
    columns = ("difference from all rows at once", "same", *splits)
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=rows)}")


def test_the_mean_of_means_learns_long_rows_less_and_short_ones_more_on_each_seed(capsys):
    runs = {
        (seed, weighting): learn(weighting, seed, 10) for seed in SEEDS for weighting in WEIGHTINGS
    }
    rows = []
    for seed in SEEDS:
        token, means = (runs[seed, weighting] for weighting in WEIGHTINGS)
        assert means.long[-1] > 1.05 * token.long[-1] and means.short[-1] < token.short[-1]
        ends = (token.long[-1], means.long[-1], token.short[-1], means.short[-1])
        rows.append((str(seed), *(f"{loss:.2f}" for loss in ends)))
    columns = ("seed", "long, token mean", "mean of means", "short, token mean", "mean of means")
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=rows, title='held-out loss, nats a token')}")


def test_the_drift_of_the_seeds_in_a_table(capsys):
    rows = []
    for loss_type in length_bias.LOSS_TYPES:
        gap = length_bias.drift(loss_type, num_seeds=len(SEEDS)).gap.tolist()
        rows.append((loss_type, *(f"{one:.0f}" for one in gap)))
    columns = ("right minus wrong, tokens", *(f"seed {seed}" for seed in SEEDS))
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=rows)}")


def test_only_a_length_in_the_weights_gives_every_seed_one_sign():
    gaps = {kind: length_bias.drift(kind, num_seeds=10).gap for kind in length_bias.LOSS_TYPES}
    assert gaps["grpo"].max() < -50 and gaps["bnpo"].max() < -20
    assert gaps["dr_grpo"].min() < 0 < gaps["dr_grpo"].max()
    assert gaps["grpo"].mean() < gaps["bnpo"].mean() < gaps["dapo"].mean() < -3
    assert length_bias.drift("grpo", scaled=False).gap.max() < -50  # 1/std has no part in it
    neutral = length_bias.drift("grpo", neutral=True, num_seeds=10).all
    assert neutral.min() < 1 / length_bias.STOP < neutral.max()  # shorter and longer than at first


@pytest.mark.parametrize("loss_type", length_bias.LOSS_TYPES)
def test_the_toys_weights_are_those_of_the_real_trainers_loss(loss_type):
    lengths = [2, 8, 30, 128, 5, 5, 1, 64]
    measured = batch_trl.measured_weights(loss_type, lengths)
    due = length_bias.token_weights(torch.tensor(lengths), loss_type, cap=128, micro=8)
    assert torch.allclose(measured, due, rtol=1e-5)


def test_the_difference_is_minus_a_covariance_to_the_last_bits():
    model = batch_loss.trainer().model.double()
    with torch.no_grad():
        sums, counts = batch_training.row_losses(model, ROWS)
    share, mean = counts / counts.double().mean(), sums / counts
    covariance = (share * mean).mean() - share.mean() * mean.mean()
    assert abs(float(mean.mean() - sums.sum() / counts.sum() + covariance)) < 1e-13
