"""A sampler with old weights, or with log-probs of another temperature, is told apart."""

import pytest

from tests.helpers.explained import answer, first

POLITE = "Let us think about the number of apples in both of the baskets."
SHORT = "<answer>12</answer> since 5 and 7 are 12"


def steps(apart, rewards=(0.4,) * 10, **other):
    more = "".join(f", '{name}': {value}" for name, value in other.items())
    return [
        f"{{'loss': 0.01, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'reward': {reward + n / 1e4}, "
        f"'completions/mean_length': {200 + n}, "
        f"'sampling/sampling_logp_difference/mean': {apart(n)}{more}}}"
        for n, reward in enumerate(rewards)
    ]


EQUAL = steps(lambda n: 0.011 + n / 1e4)
PART = steps(lambda n: 0.01 if n < 2 else 0.1 * n)


def asked(*answers: tuple[str, str]):
    return [row for a, b in answers for row in (f"  vllm: {a}", f"  hf:   {b}")]


PROBE = asked((POLITE, POLITE), (POLITE, SHORT), (POLITE, SHORT.replace("5 and 7", "7 and 5")))


def test_an_engine_that_answers_as_at_first_has_old_weights():
    one = first(*EQUAL, *PROBE)
    assert one.key == "stale_sampler" and "answers as at first" in one.says
    assert "Let us think" in one.for_it[0]


@pytest.mark.parametrize(
    "rows",
    [
        asked((POLITE, POLITE), (SHORT, SHORT), (SHORT, SHORT)),
        asked((POLITE, POLITE), (POLITE, POLITE), (POLITE, POLITE)),
        asked((POLITE, SHORT), (POLITE, SHORT + "."), (POLITE, SHORT)),
        PROBE[:4],
    ],
)
def test_answers_that_change_together_or_never_agreed_say_nothing(rows):
    assert first(*EQUAL, *rows) is None


def test_an_engine_that_sleeps_is_named_with_its_probe():
    loads = "INFO [default_loader.py:266] Loading weights took 1.20 seconds"
    one = first("enable_sleep_mode=True", *EQUAL, loads, *PROBE)
    assert "sleep mode off" in one.fix and any("Loading weights took" in row for row in one.for_it)


def test_two_that_part_beside_replies_that_stay_are_of_old_weights():
    one = first(*PART)
    assert one.key == "stale_sampler" and any("stay as they were" in row for row in one.for_it)
    rises = steps(lambda n: 0.01 if n < 2 else 0.1 * n, [0.2 + n / 12 for n in range(10)])
    assert first(*rises).key == "engines_disagree"
    assert first(*EQUAL) is None


RAW = "(VLLMEngine pid=7) INFO engine config: model='m', logprobs_mode='raw_logprobs', seed=1"
COLD = steps(lambda n: 0.07 - n / 1e3)


def test_raw_log_probs_differ_at_another_temperature():
    one = first("--rollout-temperature 0.7", RAW, *COLD)
    assert one.key == "engines_disagree" and "raw logits" in one.says
    assert "processed_logprobs" in one.fix and "0.7" in one.says


@pytest.mark.parametrize(
    ("setting", "mode", "rows"),
    [
        ("--rollout-temperature 1.0", RAW, COLD),
        ("rollout.temperature=1.0\nrollout.val_kwargs.temperature=0.6", RAW, COLD),
        ("--rollout-temperature 0.7", RAW.replace("raw", "processed"), COLD),
        ("--rollout-temperature 0.7", RAW, EQUAL),
    ],
)
def test_other_modes_and_temperatures_are_not_blamed(setting, mode, rows):
    one = first(*setting.split("\n"), mode, *rows)
    assert one is None or "raw logits" not in one.says


def test_a_mode_that_is_processed_already_is_not_advised():
    rows = [row.replace("0.0", "0.2") for row in COLD]
    one = first("temperature=0.6", "logprobs_mode=processed_logprobs", *rows)
    assert one.key == "engines_disagree" and "logprobs_mode" not in one.fix


def ray(pid: int, day: str, reward: float, apart: float):
    return [
        f"(Actor pid={pid}) [2026-01-{day} 10:0{n}:00] step {n}: {{'train/loss': 0.01, "
        f"'rollout/raw_reward': {reward}, 'train/grad_norm': 0.3, "
        f"'train/train_rollout_logprob_abs_diff': {apart + n / 1e4}, 'train/step': {n}}}"
        for n in range(6)
    ]


def test_a_later_process_of_the_same_steps_is_another_run():
    told = answer(*ray(11, "03", 0.3, 0.01), "then:", *ray(25, "04", 0.31, 0.2))
    assert told.num_entries == 12 and told.restart and told.causes[0].at.where == "line 8"


def test_processes_that_speak_of_one_step_side_by_side_are_one_run():
    both = zip(ray(11, "03", 0.3, 0.01), ray(12, "03", 0.31, 0.02), strict=True)
    told = answer(*(row for pair in both for row in pair))
    assert told.num_entries == 6 and not told.restart


def table(*rows: str):
    return [
        "step  roll_kl  ESS  reward",
        *(f"{n * 5}  {0.001 * n * n:.4f}  {1 - n / 15:.3f}  0.31" for n in range(1, 10)),
        *rows,
    ]


SYNCS = [f"sync {n}: 291 tensors, 2943.5 MiB" for n in range(1, 5)]
NORMS = [f"v{n} layers.3.mlp.up_proj.base_layer.weight norm 41.20733" for n in (1, 9, 17)]


def test_a_sync_of_the_base_alone_is_told_by_the_names_and_norms_that_are_sent():
    one = first("lora_rank: 16, lora.rank=16", *SYNCS, *NORMS, *table())
    assert one.key == "stale_sampler" and "base alone" in one.says
    assert any("41.20733 each time" in row for row in one.for_it)
    moves = [row.replace("41.20733", f"41.20{n}33") for n, row in enumerate(NORMS)]
    one = first("lora.rank=16", *SYNCS, *moves, *table())
    assert not any("each time" in row for row in one.for_it)


def test_adapters_that_a_log_trains_are_still_to_be_sent():
    one = first("lora.rank=16", "trainable params: 1,024 || all params: 9,000", *table())
    assert "send the adapter" in one.fix and "adapter's included" in one.fix


def test_rows_of_a_table_without_steps_are_no_entries_of_the_run():
    sweep = ["every_n  roll_kl  ESS", "1  0.0810  0.401", "4  0.0820  0.400", "9  0.0830  0.399"]
    assert answer(*table("", *sweep)).num_entries == 9
