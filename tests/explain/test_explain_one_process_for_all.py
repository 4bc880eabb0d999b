"""One process on several GPUs: DataParallel, a larger batch, fewer updates."""

import pytest

from tests.helpers.explained import first, keys

RUN = [
    f"{{'loss': {1.6 - n / 50:.2f}, 'grad_norm': 1.1, 'learning_rate': 2e-05, 'epoch': 0.{n}}}"
    for n in range(1, 7)
]
BATCH = (
    "  Instantaneous batch size per device = 8",
    "  Training with DataParallel so batch size has been adjusted to: 32",
    "  Total optimization steps = 125",
)
SCALARS = "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars"
SLOW = "Why is it slower on 4 cards than on one, and the model is worse?"
WRAPPER = (
    ">>> trainer.args.n_gpu = 4",
    ">>> trainer.args.parallel_mode  # ParallelMode.NOT_DISTRIBUTED",
)


@pytest.mark.parametrize(
    "lines",
    [
        (SLOW, *BATCH, SCALARS, *RUN),
        (*BATCH, *RUN, "with CUDA_VISIBLE_DEVICES=0 it has 500 steps"),
        (SLOW, *WRAPPER, SCALARS, *RUN),
        ("model = nn.DataParallel(model)  # n_gpu: 8", *RUN, SLOW),
    ],
)
def test_one_process_on_several_gpus_has_a_larger_batch_and_fewer_updates(lines):
    one = first(*lines)
    assert one.key == "one_process_for_all" and "DataParallel" in one.says
    assert "torchrun" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (SCALARS, *RUN),
        (*BATCH, SCALARS, *RUN),  # nobody says that it is worse, and no steps are compared
        (SLOW, "torchrun --nproc_per_node 4 train.py", *RUN),
        (SLOW, BATCH[0], "  Total optimization steps = 125", *RUN),
        (SLOW, BATCH[0], BATCH[1].replace("32", "8"), *RUN),
    ],
)
def test_a_wrapper_that_changes_nothing_or_another_launch_is_not(lines):
    assert "one_process_for_all" not in keys(*lines)
