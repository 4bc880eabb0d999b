"""Policy runs: two engines apart, a sampler that falls behind, a kl that nobody computes."""

import json

import pytest
from explain_shapes import NAN, rows

from course_utils.explain import explain

SOUND = {"loss": 0.01, "grad_norm": 0.2, "reward": lambda n: 0.4 + n / 200, "reward_std": 0.3}
AGREES = {"train/token_mult_prob_error": lambda n: 1.01 + n % 3 / 200}
APART = {"train/token_mult_prob_error": lambda n: 900.0 * (1 + n % 5)}
FLAT = SOUND | {"reward": lambda n: 0.4 + n % 3 / 50}
BEHIND = {
    "rollout_corr/kl": lambda n: 0.001 * (n + 1),
    "rollout_corr/ess": lambda n: 0.97 - 0.03 * n,
}


def answer(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n")


def keys(log: list[dict], *before: str) -> list[str]:
    return [one.key for one in answer(log, *before).causes]


def test_a_token_error_far_above_1_is_of_two_engines():
    found = answer(rows(20, **SOUND, **APART)).causes[0]
    assert found.key == "engines_disagree" and "1.05" in " ".join(found.for_it)
    assert not keys(rows(20, **SOUND, **AGREES))


def test_a_token_error_in_a_table_is_read():
    rows_ = "\n".join(f"{n},0.5,{9.5 + n},0.1" for n in range(8))
    log = f"step,reward,token_mult_prob_error,grad_norm\n{rows_}\n"
    assert explain(log).causes[0].key == "engines_disagree"


def test_few_spikes_of_the_token_error_are_no_disagreement():
    spikes = {"train/token_mult_prob_error": lambda n: 40.0 if n in (5, 17) else 1.02}
    assert not keys(rows(20, **SOUND, **spikes))


def test_a_small_mean_beside_it_says_that_few_tokens_are_apart():
    mean = {"train/gen_kl_error": 0.003}
    assert "few tokens" in answer(rows(9, **SOUND, **APART, **mean)).causes[0].says
    assert "few tokens" not in answer(rows(9, **SOUND, **APART)).causes[0].says


def test_kernels_that_round_inside_are_named_where_they_are_printed():
    kernels = "megatron_cfg: {apply_rope_fusion: true, bias_activation_fusion: true}"
    found = answer(rows(9, **SOUND, **APART), kernels).causes[0]
    assert "apply_rope_fusion" in found.fix and "bias_activation_fusion" in found.fix
    off = "megatron_cfg: {apply_rope_fusion: false}"
    assert "apply_rope_fusion" not in answer(rows(9, **SOUND, **APART), off).causes[0].fix


@pytest.mark.parametrize(
    "line",
    ["attention_dropout ........ 0.1", "--hidden-dropout 0.05", '"attention_dropout": 0.1,'],
)
def test_a_dropout_of_the_trainer_is_named_first(line):
    apart = rows(9, **SOUND, **{"train/train_rollout_logprob_abs_diff": 0.8})
    found = answer(apart, line).causes[0]
    assert "dropout" in found.says and found.key == "engines_disagree"
    for other in ("attention_dropout ........ 0.0", "lora_dropout=0.05"):
        assert "dropout" not in answer(apart, other).causes[0].says


def test_a_kl_of_sampler_and_trainer_that_grows_steadily_is_of_old_weights():
    found = answer(rows(24, **FLAT, **BEHIND)).causes
    assert found[0].key == "stale_sampler"
    assert "adapter" not in found[0].says
    told = answer(rows(24, **FLAT, **BEHIND), "model.lora.rank=32 model.lora.merge=False")
    assert "adapter" in told.causes[0].says


def test_other_names_of_the_two_are_read():
    kl, counted = BEHIND.values()
    log = rows(24, **FLAT, **{"mismatch/k3_kl": kl, "mismatch/rollout_is_eff_sample_size": counted})
    assert keys(log)[0] == "stale_sampler"
    log = rows(24, **FLAT, vllm_kl=kl, ess_ratio=counted)
    assert keys(log)[0] == "stale_sampler"


@pytest.mark.parametrize(
    "change",
    [
        {"rollout_corr/kl": lambda n: 0.002 + n % 3 / 1e4},
        {"rollout_corr/ess": lambda n: 0.95 + n % 2 / 100},
        {"rollout_corr/kl": lambda n: 0.001 if n < 19 else 0.03},
    ],
)
def test_a_kl_that_stays_or_jumps_is_not(change):
    assert not keys(rows(24, **SOUND, **BEHIND | change))


def test_a_kl_that_is_nan_from_first_to_last_is_not_computed():
    told = answer(rows(20, **SOUND, kl=NAN))
    assert not told.causes and not told.is_odd
    assert "no_kl_term" in [one.key for one in told.no_faults]


@pytest.mark.parametrize("field", ["loss", "reward"])
def test_a_kl_that_is_nan_beside_another_nan_is_a_fault(field):
    assert keys(rows(9, **SOUND | {field: NAN}, kl=NAN))


def test_a_kl_that_becomes_nan_is_a_fault():
    assert "nan_metric" in keys(rows(9, **SOUND, kl=lambda n: 0.01 if n < 3 else NAN))


def test_a_kl_that_is_nan_although_it_is_weighed_is_a_fault():
    assert "nan_metric" in keys(rows(9, **SOUND, kl=NAN), "GRPOConfig(beta=0.04)")


ROUNDED = {
    "train/token_mult_prob_error": lambda n: 1.22 + n % 3 / 90,
    "train/gen_kl_error": lambda n: 0.03 + n % 4 / 400,
}
ONE_TOKEN = {"train/token_mult_prob_error": lambda n: 310.0 if n == 7 else 1.02 + n % 3 / 200}


@pytest.mark.parametrize(
    "line", ["MXFP8 rollouts, BF16 training", "vllm_cfg.quantization: fp8", "rollouts in int8"]
)
def test_a_level_that_low_precision_gives_is_no_finding(line):
    assert not keys(rows(20, **SOUND, **ROUNDED), line)
    assert keys(rows(20, **SOUND, **ROUNDED))[0] == "engines_disagree"  # where none is named
    assert keys(rows(20, **SOUND, **APART), line)[0] == "engines_disagree"  # nor far above it
    assert keys(rows(20, **SOUND, **ROUNDED), "the optimizer keeps its state in fp8")


def test_one_spike_beside_flat_averages_is_one_token():
    mean = {"train/gen_kl_error": lambda n: 0.004 + n % 3 / 2000}
    told = answer(rows(12, **SOUND, **ONE_TOKEN, **mean))
    assert not told.causes
    one = next(one for one in told.no_faults if "token" in one.says)
    assert one.at.where == "line 8" and "310" in " ".join(one.for_it)


@pytest.mark.parametrize(
    "change",
    [
        {"train/gen_kl_error": lambda n: 0.9 if n == 7 else 0.004},
        {"grad_norm": lambda n: 70.0 if n == 7 else 0.2},
        {"train/token_mult_prob_error": lambda n: 310.0 if n > 6 else 1.02},
    ],
)
def test_a_spike_that_other_numbers_share_is_not(change):
    told = answer(rows(12, **SOUND | {"train/gen_kl_error": 0.004} | ONE_TOKEN | change))
    assert not any("one token" in one.says for one in told.no_faults)


GAP = "sampling/sampling_logp_difference/mean"
CUT_OFF = SOUND | {
    "sampling/importance_sampling_ratio/mean": lambda n: 0.02 + n % 3 / 900,
    GAP: lambda n: 0.04 + n % 3 / 2000,
    "completions/mean_length": 150.0,
}


def of_kept_tokens(log: list[dict], *before: str) -> bool:
    return "likeliest tokens" in answer(log, *before).causes[0].says


def test_a_constant_gap_beside_a_truncated_sampling_is_of_the_tokens_left_out():
    one = answer(rows(12, **CUT_OFF), "sampling: top_p: 0.9, top_k: 50").causes[0]
    assert one.key == "engines_disagree" and "top_p 0.9, top_k 50" in one.says
    assert "150 tokens" in one.says and "top_p 1" in one.fix


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ("top_p=1.0, top_k=-1", {}),
        ("val_kwargs.top_p=0.9", {}),  # of the evaluation alone
        ("top_p=0.9", {GAP: lambda n: 0.01 * (n + 1)}),  # it grows
        ("top_p=0.9", {GAP: 0.3}),  # more than the tokens that are left out may have
    ],
)
def test_another_gap_or_a_whole_distribution_is_not(settings, change):
    assert not of_kept_tokens(rows(12, **CUT_OFF | change), settings)


def test_a_truncated_sampling_alone_is_no_fault():
    near = {"sampling/importance_sampling_ratio/mean": lambda n: 1 + (-1) ** n / 500}
    assert not keys(rows(12, **SOUND | near | {GAP: 0.002}), "top_p=0.95")


@pytest.mark.parametrize(("epoch", "key"), [(0.59, "policy_is_reference"), (0.001, "")])
def test_rewards_of_0_late_in_an_epoch_are_no_start(epoch, key):
    row = {"loss": 0.6931, "rewards/chosen": 0.0, "rewards/rejected": 0.0, "epoch": epoch}
    found = explain(f"{row}\n")
    assert next((one.key for one in found.causes), "") == key
    assert bool(key) or any("later entries" in text for text in found.findings[0].for_it)
