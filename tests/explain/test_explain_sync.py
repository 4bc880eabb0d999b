"""The sampler's copy of the weights: damaged by a sync, or never renewed."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def answer(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n")


def keys(log: list[dict], *before: str) -> list[str]:
    return [one.key for one in answer(log, *before).causes]


STANDS = {
    "lr": 0.0,
    "kl": 0.0,
    "grad_norm": lambda n: 0.5 if n == 0 else 3.2 + n / 10,
    "reward": lambda n: 0.3 if n == 0 else -0.1 + n / 99,
    "response_length/mean": lambda n: 310.0 if n == 0 else 1020.0 + n,
    "train_rollout_logprob_abs_diff": lambda n: 0.02 if n == 0 else 31.0 + n,
}


def test_a_difference_that_jumps_behind_a_sync_of_still_weights_is_the_engines_copy():
    one = answer(rows(4, **STANDS)).causes[0]
    assert one.key == "engines_disagree" and "damaged" in one.says and "sync" in one.says
    told = " ".join(one.for_it)
    assert "0.02" in told and "32" in told and "reward" in told and one.at.where == "line 2"


@pytest.mark.parametrize(
    "change",
    [
        {"train_rollout_logprob_abs_diff": lambda n: 0.02 + n / 1000},
        {"train_rollout_logprob_abs_diff": 31.0},  # from the first entry on
        {"lr": 1e-6, "kl": lambda n: n / 5},  # the policy moves
    ],
)
def test_another_difference_is_not_laid_to_the_sync(change):
    told = answer(rows(4, **STANDS | change))
    assert not any("damaged" in one.says for one in told.causes)


def test_what_skyrl_prints_is_read():
    names = {
        "policy/policy_lr": "0.0000",
        "policy/policy_kl": "0.0000",
        "reward/avg_raw_reward": "0.3",
        "generate/avg_num_tokens": "310.1",
        "policy/rollout_train_logprobs_abs_diff_mean": "0.0210",
        "trainer/global_step": 1,
    }
    broken = names | {
        "reward/avg_raw_reward": "-0.2",
        "policy/rollout_train_logprobs_abs_diff_mean": "33.1",
        "trainer/global_step": 2,
    }
    shown = [str(names).replace(", '", ",\n '"), str(broken).replace(", '", ",\n '")]
    log = "".join(f"INFO | tracking:log:188 - Step {n}: \n{one}\n" for n, one in enumerate(shown))
    told = explain(log)
    assert told.num_entries == 2 and "damaged" in told.causes[0].says


GOES_ON = {
    "actor/grad_norm": lambda n: 0.25 + n % 4 / 50,
    "actor/kl_loss": lambda n: 0.0005 * (n + 1) ** 2,
    "actor/lr": 2e-5,
    "critic/score/mean": lambda n: 0.51 + n % 5 / 90,
    "response_length/mean": lambda n: 640.0 + n % 3 * 5,
    "training/rollout_probs_diff_mean": lambda n: 0.005 + 0.006 * n,
    "val-core/maths/acc/mean@1": lambda n: 0.6113 + n % 3 / 999,
}


def test_replies_that_stay_while_trainer_and_sampler_part_step_by_step_are_of_old_weights():
    one = answer(rows(18, **GOES_ON)).causes[0]
    assert one.key == "stale_sampler" and "adapter" not in one.says
    told = " ".join(one.for_it)
    assert "kl_loss" in told and "0.005" in told and "0.107" in told
    merged = answer(rows(18, **GOES_ON), "model.lora.rank=32 model.lora.merge=True").causes[0]
    assert "merge" in merged.says and "merge" in merged.fix


@pytest.mark.parametrize(
    "change",
    [
        {"critic/score/mean": lambda n: 0.4 + n / 60},  # replies get better
        {"response_length/mean": lambda n: 640.0 + 40 * n},  # or longer
        {"training/rollout_probs_diff_mean": lambda n: 0.004 + n % 3 / 2000},
        {"training/rollout_probs_diff_mean": lambda n: 0.004 if n < 12 else 0.09},  # one jump
        {"actor/kl_loss": lambda n: 0.0004 + n % 3 / 9000},  # the policy stays as well
    ],
)
def test_other_replies_are_not(change):
    assert "stale_sampler" not in keys(rows(18, **GOES_ON | change))


def box(row: dict) -> str:
    """A box as AReaL prints it, two names with their numbers to a line."""
    pairs = [f"{name:40} \u2502 {value:.4e}" for name, value in row.items()]
    lines = [f"\u2502 {a} \u2502 {b} \u2502" for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    rule = "\u251c" + "\u2500" * 42 + "\u253c" + "\u2500" * 12 + "\u2524"
    top, end = "\u2552" + "\u2550" * 50 + "\u2555", "\u2558" + "\u2550" * 50 + "\u255b"
    return "\n".join([top, f"\n{rule}\n".join(lines), end])


def table(n: int, **other) -> str:
    old = {"a/update/version_stats/sample_staleness_theta_avg": 1.7 + n % 3 / 9}
    row = {
        "rollout/reward": 0.5 - n % 2 / 50,
        "timeperf/rollout": 31.0,
        "ppo_actor/update/grad_norm": 0.2,
        **(old | other),
        "ppo_actor/update/lr": 1e-6,
        "timeperf/train_step": 40.0,
    }
    said = (
        f"(A) Manager: running: 70, accepted: {40 + 20 * n if other == {} else 9 + n}, rejected: 0"
    )
    return f"{said}\n(A) StatsLogger INFO:\n{box(row)}"


AGED = "a/update/version_stats/sample_staleness_theta_avg"
LIMIT = "  max_head_offpolicyness: 2"


def test_a_box_with_several_pairs_to_a_line_is_one_entry():
    told = explain("\n".join(table(n) for n in range(5)))
    assert told.num_entries == 5
    assert {"reward", "grad_norm", "learning_rate", "staleness"} <= told.known
    assert told.entries[0].numbers["grad_norm"] == 0.2


def test_samples_older_than_the_limit_behind_a_recovery_are_named():
    before = [table(n) for n in range(4)]
    after = [table(n, **{AGED: 2.0 + 2.0 * n}) for n in range(8)]
    recovered = "(A) RecoverHandler: Recovered from recover_checkpoint, step 4"
    one = explain("\n".join([LIMIT, *before, recovered, *after])).causes[0]
    assert one.key == "stale_sampler" and "limit" in one.says and "began anew" in one.says
    told = " ".join(one.for_it)
    assert "max_head_offpolicyness: 2" in told and "accepted: 100" in told and "accepted: 9" in told


def test_samples_older_than_the_limit_from_the_start_are_no_recovery():
    aged = [table(n, **{AGED: 7.0}) for n in range(8)]
    one = explain("\n".join([LIMIT, *aged])).causes[0]
    assert one.key == "stale_sampler" and "began anew" not in one.says


def test_samples_at_the_limit_are_fine():
    recovered = "(A) RecoverHandler: Recovered from recover_checkpoint, step 4"
    sound = [table(n) for n in range(8)]
    told = explain("\n".join([LIMIT, *sound[:4], recovered, *sound[4:]]))
    assert "stale_sampler" not in [one.key for one in told.causes]
    aged = [table(n, **{AGED: 7.0}) for n in range(8)]
    assert "stale_sampler" not in [one.key for one in explain("\n".join(aged)).causes]
