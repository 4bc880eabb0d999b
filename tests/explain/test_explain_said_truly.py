"""What an answer says holds for the log: counts, quotes, runs, and what it does already."""

import math

import pytest

from tests.helpers.explained import answer, first

OVERFLOWS = [
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096, "
    "but hysteresis is 2. Reducing hysteresis to 1",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096, reducing to 2048",
]
RISES = [f"{{'reward': {0.1 * n:.2f}, 'kl': {0.01 * n:.2f}}}" for n in range(1, 7)]
CHEATED = "The reward goes up and up while the quality of its replies falls, they are worse."


@pytest.mark.parametrize("count", ["212 out of 500", "1,212 out of 2,500", "400"])
def test_a_count_is_quoted_whole(count):
    one = first(f"There are {count} instances where the predictions for both options are equal.")
    assert one.for_it[0].startswith(f"line 1 says: {count} instances")


def test_a_step_that_hysteresis_lets_pass_is_skipped_as_well():
    told = answer(*OVERFLOWS, "{'loss': 1.2}", "{'loss': 1.1}").findings[0]
    assert told.key == "scaler_search" and told.for_it[0].startswith("2 lines")


def test_one_reward_has_no_part_that_falls():
    def keys(rows):
        return [one.key for one in answer(*rows, CHEATED).fits]

    assert keys(RISES) and "parts_apart" not in keys(RISES)
    parts = [
        f"{row[:-1]}, 'rewards/a': 0.5{n}, 'rewards/b': 0.4{n}}}" for n, row in enumerate(RISES)
    ]
    assert "parts_apart" in keys(parts)


def cosine(step: int, end: int) -> float:
    return 2e-5 * (0.5 + 0.5 * math.cos(math.pi * step / end))


def curve(end: int) -> list[str]:
    return [
        f"step {n}/800 | loss {1.9 - n / 800:.3f} | lr {cosine(n, end):.3e} | gnorm 1.1"
        for n in range(10, 801, 20)
    ]


TABLE = [
    "held-out pairs, for every saved checkpoint",
    " step 200  acc 0.61  loss 0.66",
    " step 400  acc 0.63  loss 0.65",
    " step 800  acc 0.62  loss 0.66",
]
LOOP = ["Accelerator on 2x H100, DDP", "model, opt, sched = accelerator.prepare(model, opt, sched)"]


def test_a_table_of_checkpoints_is_no_other_run():
    told = answer(*LOOP, *curve(400), *TABLE, "Why does the loss stall around 390 to 410?")
    assert not told.restart and told.num_entries == 43
    assert told.causes[0].key == "schedule_ends_early"
    assert "a step for each process" in told.causes[0].says
    assert any("2x H100" in row for row in told.causes[0].for_it)


def test_rows_with_a_rate_of_their_own_are_another_run():
    assert answer("evaluation is off", *curve(800), *curve(800)).restart


def test_another_try_below_a_head_of_its_own_is_another_run():
    rows = [f"step {n} loss {2 - n / 90:.3f}" for n in range(10, 90, 10)]
    assert answer(*rows, "Test 2, other seed:", *rows).restart
    told = answer(*rows, "test set, each saved checkpoint:", *rows[3:])
    assert not told.restart and "eval_loss" in told.known


def test_cards_alone_do_not_tell_of_a_prepared_schedule():
    one = first("torchrun on 2x H100", *curve(400))
    assert one.key == "schedule_ends_early" and "a step for each process" not in one.says


def test_a_whole_schedule_on_several_cards_is_no_fault():
    assert first(*LOOP, *curve(800), *TABLE) is None


def losses(*lines: str):
    rows = ["step  lr  one  two"]
    for n in range(9):
        low, rate = 1.0 / (1 + n), 1e-4 * (1 - n / 8)
        rows.append(f"{n * 50}  {rate:.2e}  {low:.4f}  {low * (1 + 0.12 * n):.4f}")
    return first("two: torch_dtype=bfloat16", *rows, *lines)


def test_bytes_a_weight_show_in_what_the_moments_are_kept():
    one = losses("saved weights and optimizer: one 56.0 GB  two 24.0 GB", "a model of 4B params")
    assert one.key == "rounding_swallows" and not one.against
    assert any("6.0 bytes" in row and "14.0" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [(), ("saved weights and optimizer: one 56.0 GB  two 55.0 GB", "a model of 4B params")],
)
def test_sizes_that_do_not_tell_leave_it_open(lines):
    one = losses(*lines)
    assert one.key == "rounding_swallows" and one.against and "no rule tells" in one.against[0]


EMPTY = (
    "size mismatch for base_model.model.lm_head.modules_to_save.default.weight: copying a param "
    "with shape torch.Size([0]) from checkpoint, the shape in current model is "
    "torch.Size([32064, 3072])."
)
SAVED = "[INFO|trainer.py:3503] >> Saving model checkpoint to out/checkpoint-90"


def test_who_saved_through_the_trainer_is_not_told_to():
    assert "through the Trainer" in first(EMPTY).fix
    assert "through the Trainer" not in first(SAVED, EMPTY).fix


@pytest.mark.parametrize(("version", "newer"), [("0.15.0", True), ("0.14.0", False)])
def test_empty_tables_beside_a_whole_adapter_are_of_one_version(version, newer):
    one = first(f"peft=={version}", EMPTY)
    assert one.key == "saved_partitioned" and ("0.15.1" in one.fix) == newer


def test_a_matrix_that_is_empty_as_well_is_not_of_that_version():
    other = EMPTY.replace("modules_to_save.default", "lora_A.default")
    assert "0.15.1" not in first("peft==0.15.0", EMPTY, other).fix


@pytest.mark.parametrize("setting", ["vllm_importance_sampling_correction=True", "--use-tis"])
def test_a_correction_that_is_on_is_not_advised(setting):
    rows = [f"{{'reward': 0.2, 'sampling/importance_sampling_ratio/mean': 1.3{n}}}" for n in "1234"]
    assert "truncated importance" not in first(setting, *rows).fix
