"""Limits that are set for another size: of a penalty, of a ratio, of a value; a KL that is k1."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first, keys

SHRINKS = [
    f"step:{n} - actor/entropy:0.4 - critic/score/mean:-0.5 - response_length/mean:{900 - 80 * n}.0"
    for n in range(1, 10)
]
YAML = ["reward:", "  overlong_buffer:", "    enable: True", "    len: {len}", "  penalty: 1.0"]


@pytest.mark.parametrize(
    "setting",
    [
        ["--soft_cache_length 2048 --soft_max_length 2048"],
        ["data.max_response_length=2048 reward_model.overlong_buffer.len=2048"],
        ["max_response_length=$((2 * 1024))", "overlong_buffer_len=$((4 * 1024))"],
        ["max_response_length: 2048", *(one.format(len=2048) for one in YAML)],
    ],
)
def test_a_buffer_as_long_as_the_limit_penalises_every_token(setting):
    one = first(*setting, *SHRINKS)
    assert one.key == "length_penalised_throughout" and "at token 0" in one.says
    assert any("replies shrink" in row for row in one.for_it)


@pytest.mark.parametrize(
    "setting",
    [
        ["data.max_response_length=20480 reward_model.overlong_buffer.len=4096"],
        ["max_response_length: 8192", *(one.format(len=1024) for one in YAML)],
        ["max_response_length=2048 overlong_buffer_len=2048 enable_overlong_buffer=False"],
        ["The old run had overlong_buffer_len=2048 and that was as long as max_response_length."],
    ],
)
def test_a_short_buffer_or_none_is_not_blamed(setting):
    assert "length_penalised_throughout" not in keys(*setting, *SHRINKS)


NARROW = ["eps_clip: 0.0003", "eps_clip_high: 0.0004"]
RATIOS = [f"upd {n} | ratio_min 0.8{n} | ratio_max 1.2{n}" for n in range(1, 5)]


@pytest.mark.parametrize(
    "level",
    ['importance_sampling_level="token"', "loss_mode: vanilla", "--advantage-estimator grpo"],
)
def test_a_clip_range_of_whole_replies_clips_ratios_of_tokens(level):
    one = first(*NARROW, level, *RATIOS)
    assert one.key == "clip_of_whole_replies" and "eps_clip 0.0003" in one.says
    assert any("ratio_min 0.81" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        [*NARROW, 'importance_sampling_level="sequence"'],
        [*NARROW, "loss_mode: gspo"],
        [*NARROW, "# from the GSPO paper"],
        ["--adam-eps 1e-8 --norm-epsilon 1e-5", "optimizer: epsilon: 1e-6", "loss_mode: vanilla"],
        ["eps_clip: 0.2", "eps_clip_high: 0.28", "loss_mode: vanilla"],
        ["response_length/clip_ratio 0.0003", "loss_mode: vanilla"],
        ["clip_ratio 0.0003 in the last update", "loss_mode: vanilla"],
        ["--eps-clip 3e-4 --eps-clip-high 4e-4 --advantage-estimator gspo"],
        [*NARROW, "loss_mode: vanilla", *(f"step: {n} - pg_clipfrac: 0.0" for n in range(1, 5))],
    ],
)
def test_a_range_that_fits_its_ratio_is_not_blamed(lines):
    assert "clip_of_whole_replies" not in keys(*lines)


def critic(pace: float, goal: float = 6.0) -> list[str]:
    values = [min(goal, 0.1 + pace * n) for n in range(12)]
    return [
        f"step {n} | value_loss {abs(goal - v):.3f} | values {v:.3f} | returns {goal}"
        for n, v in enumerate(values)
    ]


def test_a_critic_that_walks_in_steps_of_its_clip_range_is_held_back():
    one = first("cliprange_value: 0.25", *critic(0.245))
    assert one.key == "values_held_back" and "24 such" in one.says and "step" in one.for_it[0]


@pytest.mark.parametrize(
    ("limit", "pace", "goal"), [(0.25, 0.6, 6.0), (0.25, 0.05, 6.0), (10.0, 0.245, 6.0)]
)
def test_a_critic_that_moves_otherwise_is_not_held_by_its_range(limit, pace, goal):
    assert "values_held_back" not in keys(f"cliprange_value: {limit}", *critic(pace, goal))


K1 = [
    "kl_term = mb['logprobs'] - mb['ref_logprobs']",
    "kl_mean = (kl_term * mask).sum() / mask.sum()",
    "total_loss = policy_loss + kl_coef * kl_mean",
]


def test_a_difference_of_log_probs_in_the_loss_pulls_nowhere():
    one = first(*K1)
    assert one.key == "kl_without_effect" and "k1" in one.says and len(one.for_it) == 2
    assert first("loss += beta * masked_mean(kl, m)") is None
    assert first("kl = ref_logp - logp", "loss += beta * masked_mean(kl, m)").key == one.key


def test_the_difference_is_seen_under_other_names():
    code = ["per_token_kl = per_token_logps - ref_per_token_logps"]
    added = "per_token_loss = per_token_loss + self.beta * per_token_kl"
    assert first(*code, added).key == "kl_without_effect"
    code = ["log_ratio = out['logp'] - out['ref_logp']", "pen = (log_ratio * mask).mean()"]
    assert first(*code, "loss = pg + kl_weight * pen").key == "kl_without_effect"


@pytest.mark.parametrize(
    "setting",
    [
        "actor.use_kl_loss=True actor.kl_loss_coef=0.01 actor.kl_loss_type=kl",
        "--use-kl-loss --kl-loss-coef 0.02 --kl-loss-type k1",
        "--use_kl_loss --kl_estimator k1 --init_kl_coef 0.01",
    ],
)
def test_a_setting_of_k1_in_the_loss_pulls_nowhere(setting):
    assert first(setting).key == "kl_without_effect"


@pytest.mark.parametrize(
    "lines",
    [
        [*K1[:1], "reward = score - kl_coef * kl_term", "total_loss = policy_loss + vf_loss"],
        [*K1[:1], "kl_term = torch.exp(-kl_term) + kl_term - 1", *K1[1:]],
        [*K1[:1], "kl_mean = (kl_term ** 2 / 2).mean()", K1[2]],
        [*K1[:1], "kl_mean = (ratio * kl_term).mean()", K1[2]],
        [*K1[:1], "kl_mean = kl_term.detach().mean()", K1[2]],
        [*K1[:1], "kl_mean = k3(kl_term).mean()", K1[2]],
        ["--use-kl-loss --kl-loss-type low_var_kl"],
        ["--use-kl-loss --kl-loss-type k1 --use-unbiased-kl"],
        ["--kl_estimator k1 --init_kl_coef 0.01"],
        ["use_kl_loss=False kl_loss_type=kl"],
    ],
)
def test_another_estimate_or_another_place_of_the_kl_is_not_blamed(lines):
    assert "kl_without_effect" not in keys(*lines)


LEARNS = [f"step: {n} - reward: 0.{30 + n} - entropy: 0.4" for n in range(1, 9)]


@pytest.mark.parametrize(
    "said",
    [
        "The ref_model is frozen and both of them are in bf16 on this node.",
        "Frozen test of the loss: one saved batch, and no optimizer step on it.",
        "We need to find the bug before the freeze on Friday, or the paper is without it.",
        "Rollouts read fine to me. The broadcast of weights takes 6 s and it was never skipped.",
    ],
)
def test_what_is_frozen_or_never_skipped_is_no_complaint(said):
    assert not keys(*LEARNS, said)


SORTED = [
    f"step:{n} - critic/score/mean:{0.8 - 0.05 * (n % 8):.2f} - actor/entropy:0.3"
    f" - response_length/mean:{600 + 150 * (n % 8)}.0"
    for n in range(24)
]


def test_replies_whose_length_follows_their_prompts_are_not_paid_for_it():
    assert "length_is_paid" not in keys(*SORTED)


def by_rows(gain: float = 0.06, rises: float = 0.02) -> list[str]:
    return [
        f"step:{n} - reward:{0.8 - 0.05 * (n % 8) + gain * (n // 8):.3f}"
        f" - eval/acc:{0.5 + rises * n:.3f}"
        for n in range(24)
    ]


def test_a_reward_that_follows_sorted_rows_is_healthy_where_the_evaluation_rises():
    answer = explain("\n".join(["data.shuffle=False", *by_rows(), ""]))
    assert not answer.causes and answer.is_healthy
    assert "rows_by_difficulty" in [one.key for one in answer.no_faults]


@pytest.mark.parametrize(
    ("setting", "log"),
    [
        ("data.shuffle=True", by_rows()),
        ("data.shuffle=False", by_rows(gain=-0.06)),
        ("data.shuffle=False", by_rows(rises=-0.01)),
        ("data.shuffle=False", by_rows()[:8]),
    ],
)
def test_a_reward_that_falls_otherwise_is_not_called_healthy(setting, log):
    healthy = [one.key for one in explain("\n".join([setting, *log, ""])).no_faults]
    assert "rows_by_difficulty" not in healthy
