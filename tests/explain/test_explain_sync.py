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


ASLEEP = {
    "loss": lambda n: 0.2 / 5**n,
    "learning_rate": lambda n: 3e-6 - n * 2e-7,
    "reward": lambda n: 0.21 + (n * 3 % 4) / 200,
    "reward_std": 0.1,
    "completions/mean_length": lambda n: 140 + n * 5 % 7,
    "sampling/importance_sampling_ratio/mean": lambda n: 0.97 / 2.5**n,
    "entropy": lambda n: 0.5 + n / 9,
}


def test_a_ratio_that_dies_while_the_replies_stay_is_of_weights_that_are_never_sent():
    found = answer(rows(11, **ASLEEP)).causes
    assert [one.key for one in found] == ["stale_sampler"]
    assert "does not get the weights" in found[0].says and "sleep" not in found[0].says
    assert any("replies stay" in told for told in found[0].for_it) and not found[0].against


def test_an_engine_that_sleeps_is_named_and_its_sleep_is_to_be_switched_off():
    one = answer(rows(11, **ASLEEP), "INFO [engine.py:88] sleep freed 31.2 GiB memory").causes[0]
    assert one.key == "stale_sampler" and "wakes" in one.says and "sleep mode off" in one.fix
    one = answer(rows(11, **ASLEEP), "vllm_enable_sleep_mode=False").causes[0]
    assert one.key == "stale_sampler" and "wakes" not in one.says


@pytest.mark.parametrize(
    "change",
    [
        {"reward": lambda n: 0.21 + n / 15},  # what is sampled learns
        {"completions/mean_length": lambda n: 140 + 40 * n},
        {"learning_rate": 0.0},
        {"sampling/importance_sampling_ratio/mean": lambda n: 0.3 + (n % 3) / 50},  # a temperature
    ],
)
def test_another_ratio_is_not_laid_to_weights_that_are_never_sent(change):
    told = answer(rows(11, **ASLEEP | change))
    assert not any("does not get the weights" in one.says for one in told.causes)


def at_first(**change) -> list[dict]:
    shape = {
        "actor/pg_clipfrac": lambda n: 0.29 + n % 3 / 50,
        "actor/ppo_kl": 0.8,
        "critic/rewards/mean": 0.6,
        "actor/lr": 1e-6,
        "actor/grad_norm": 2.5,
    }
    return [row | {"step": row["step"] + 1} for row in rows(8, **shape | change)]


ONE_UPDATE = "data.train_batch_size=256 actor.ppo_mini_batch_size=256"


@pytest.mark.parametrize(
    ("before", "is_named"),
    [
        (ONE_UPDATE, True),
        ("I do a single update per batch of replies.", True),
        ("data.train_batch_size=256 actor.ppo_mini_batch_size=64", False),
        (f"{ONE_UPDATE} actor.ppo_epochs=4", False),
        ("data.max_prompt_length=512", False),
    ],
)
def test_what_is_clipped_in_the_only_update_of_the_first_batch_has_another_input(before, is_named):
    found = answer(at_first(), before).causes
    assert any("other probabilities" in one.says for one in found) == is_named
    if is_named:
        assert found[0].key == "engines_disagree" and "fewer updates" not in found[0].fix
        assert not any(one.key == "much_is_clipped" for one in found)


def test_a_perplexity_above_the_samplers_from_step_1_on_tells_the_same():
    ppl = {"rollout_corr/training_ppl": lambda n: 3.9 + n % 2, "rollout_corr/rollout_ppl": 1.4}
    one = answer(at_first(**ppl), "model.use_remove_padding=False").causes[0]
    assert "other probabilities" in one.says and "use_remove_padding=True" in one.fix
    assert "3.9" in " ".join(one.for_it)


@pytest.mark.parametrize("mine", [1.41, lambda n: 1.41 + n])  # alike; or apart with time
def test_a_perplexity_that_begins_alike_does_not(mine):
    ppl = {"rollout_corr/training_ppl": mine, "rollout_corr/rollout_ppl": 1.4}
    few = {"actor/pg_clipfrac": 0.004, "actor/ppo_kl": 1e-4}
    assert not keys(at_first(**ppl | few), ONE_UPDATE)
