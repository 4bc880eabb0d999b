"""Words and lines that were taken for more than they say."""

import math

import pytest

from tests.helpers.explained import answer

RUN = [f"step {n} | loss 0.9{9 - n} | grad_norm 0.{n}1 | lr 1e-5 | 8 GPUs" for n in range(1, 8)]


ALONE = [
    "[rank0]: [Rank 0] Watchdog caught collective operation timeout:",
    "WorkNCCL(SeqNum=88, OpType=_REDUCE_SCATTER_BASE, NumelIn=8000, NumelOut=2000, Timeout(ms)="
    "600000) ran for 600010 ms",
    "bash: Aborted",
]


def test_where_only_one_ranks_output_is_left_no_cause_is_named():
    told = answer("I only kept the output of rank 0.", *RUN, *ALONE)
    assert not told.causes and "other 3 is not in this paste" in told.worries[0]


def test_a_wait_that_is_broken_over_two_lines_is_read():
    first = answer(*RUN, *ALONE).causes[0]
    assert first.key == "ranks_disagree"
    assert any("_REDUCE_SCATTER_BASE number 88 of 8000" in row for row in first.for_it)


CURVE = [f"step {n}00  loss 0.{68 - n} acc 0.5{n}" for n in range(1, 7)]
SUMMARY = ["wandb: Run summary:", "wandb:   train/step 600", "wandb:   train/loss 0.62"]
SUMMARY += ["wandb:  train/grad_norm 2.2", "wandb:   eval/loss 0.63"]


def test_the_curve_below_its_trackers_summary_is_no_second_run():
    told = answer(*SUMMARY, "curve:", *CURVE)
    assert not told.restart and told.num_entries
    assert answer(*CURVE, "killed, again:", *CURVE).restart


def rate(step: int, total: int) -> float:
    return 1e-4 * (1 + math.cos(math.pi * step / total)) / 2


HEAD = [
    "sft.py, accelerate 1.4, 8x A100",
    "sched = get_cosine_schedule_with_warmup(opt, num_warmup_steps=0, num_training_steps=updates)",
    "updates: 1600",
    "optim_step,lr,train_loss,grad_norm",
]
ROWS = [f"{n},{rate(n, 200):.3e},{2 - n / 1900:.3f},1.1" for n in range(20, 1601, 20)]


def test_a_prepared_schedule_is_told_by_the_total_that_is_printed():
    first = answer("sched = accelerator.prepare(sched)", *HEAD, *ROWS).causes[0]
    assert first.key == "schedule_ends_early" and "a step for each process" in first.says
    assert any("step 200 of 1600" in row for row in first.for_it)


def test_a_schedule_that_nothing_prepares_is_not_blamed_on_the_processes():
    first = answer(*HEAD[1:2], *HEAD[3:], *ROWS).causes[0]
    assert first.key == "schedule_repeats" and "(step 200)" in " ".join(first.for_it)


ONCE = [
    "data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=128",
    *(
        f"step:{n} - actor/pg_loss:0.001 - actor/pg_clipfrac:0.0 - actor/ppo_kl:0.0 - "
        f"actor/grad_norm:0.2{n} - critic/score/mean:0.4{n} - val-core/own/acc/mean@1:0.3{n}"
        for n in range(1, 9)
    ),
]


def test_nothing_is_clipped_where_each_batch_gives_one_update_and_the_policy_learns():
    told = answer(*ONCE)
    assert told.is_healthy and told.no_faults[0].key == "on_policy_zero_loss"
    assert "one update for each batch" in " ".join(told.no_faults[0].for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ppo_mini_batch_size=128", "ppo_mini_batch_size=32"),
        ("ppo_mini_batch_size=128", "ppo_mini_batch_size=128 actor.ppo_epochs=2"),
        ("pg_loss:0.001", "pg_loss:0.301"),
        ("val-core/own/acc/mean@1:0.3", "lr:0.3"),
    ],
)
def test_several_updates_or_no_evaluation_do_not_show_a_healthy_run(old, new):
    text = "\n".join(ONCE)
    assert old in text and not answer(text.replace(old, new)).is_healthy
