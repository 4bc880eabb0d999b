"""Numbers of a run beside the settings that are printed for it."""

import json

import pytest
from explain_shapes import DPO, rows

from course_utils.explain import explain

FALLS = {"loss": lambda n: 2 - n / 40, "grad_norm": lambda n: 0.7 + n % 3 / 30}
RATED = rows(12, **FALLS, learning_rate=1e-3)
SPEED = "[INFO] [logging.py:107:log_dist] [Rank 0] step={0}, skipped=0, lr=[{1}], mom=[[0.9, 0.99]]"
ENGINE = '"optimizer": {"type": "AdamW", "params": {"lr": 5e-7}}, "scheduler": {"type": "WarmupLR"'
STEEP = {"loss": lambda n: 40.0 - n, "eval_loss": lambda n: 10.1 - n / 4.1}
ZEROS = DPO | {"loss": 0.6931, "rewards/chosen": 0.0, "rewards/rejected": 0.0, "grad_norm": 0.0}
VARIED = {"logps/chosen": lambda n: -80.1 - n * n % 7, "logps/rejected": lambda n: -90.2 + n % 5}
STUCK = {"loss": lambda n: 1.49 + n % 5 / 200, "grad_norm": lambda n: 2.51 + n % 7 / 30}
ODDS = {
    "loss": lambda n: 1.6 - n / 20,
    "rewards/chosen": lambda n: -0.06 / 3**n,
    "rewards/rejected": lambda n: -0.1 * n - 0.05,
    "logps/chosen": lambda n: -0.6 / 3**n,
    "log_odds_ratio": lambda n: -0.8 / 3**n,
}
ANOMALY = "RuntimeError: Function 'Log1PBackward0' returned nan values in its 0th output."


def answer(log: list[dict | str], *before: str):
    lines = [*before, *(one if isinstance(one, str) else json.dumps(one) for one in log)]
    return explain("\n".join(lines) + "\n")


def keys(log: list[dict | str], *before: str) -> list[str]:
    return [one.key for one in answer(log, *before).causes]


@pytest.mark.parametrize(
    "line",
    [
        "TrainingArguments(learning_rate=1e-06, bf16=True)",
        "tune run recipe --config full optimizer.lr=6e-7",
        "(Actor pid=4)   lr .............................. 1e-06",
        "learning_rate: 0.000005",
    ],
)
def test_a_rate_far_above_the_printed_one_is_named(line):
    found = answer(RATED, line).causes[0]
    assert found.key == "rate_not_asked" and "line 1" in " ".join(found.for_it)


def test_a_rate_that_a_sentence_tells_of_the_next_run_is_asked_for():
    said = "and this is what I get with a learning_rate of 1e-3 when it is run again"
    assert "rate_not_asked" not in keys([*RATED], "learning_rate=1e-06", said)


def test_the_default_of_a_scheduler_is_named():
    log = [part for n in range(1, 9) for part in ({"loss": 9.0 + n % 3}, SPEED.format(n, 0.001))]
    found = answer(log, ENGINE + ', "params": {"warmup_num_steps": 1}}').causes[0]
    assert found.key == "rate_not_asked" and "warmup_max_lr" in found.says
    told = answer(log, ENGINE + ', "params": {"warmup_max_lr": 5e-7}}').causes[0]
    assert "WarmupLR" not in told.says


@pytest.mark.parametrize(
    ("lines", "rate"),
    [
        (["learning_rate=5e-4"], 1e-3),
        (["learning_rate=1e-3"], lambda n: 1e-7 * n),  # it warms up
        (["actor.optim.lr=1e-6", "critic.optim.lr=1e-3"], 1e-3),
        (["optimizer.lr=1e-6", "scheduler.max_lr=1e-3"], 1e-3),
        (["I have tried it with a learning_rate of 1e-6 and that is not it"], 1e-3),
        ([], 1e-3),
    ],
)
def test_a_rate_near_a_printed_one_is_no_fault(lines, rate):
    assert "rate_not_asked" not in keys(rows(12, **FALLS, learning_rate=rate), *lines)


def test_a_rate_that_stands_far_below_the_printed_one_is_named():
    assert "rate_not_asked" in keys(rows(12, **FALLS, learning_rate=1e-7), "learning_rate: 2e-4")
    assert "rate_not_asked" not in keys(rows(4, **FALLS, learning_rate=1e-7), "lr: 2e-4")


def test_a_loss_that_is_the_accumulation_times_its_evaluation_is_named():
    log = [{"eval_loss": 10.4, "step": 0}, *rows(12, **STEEP, grad_norm=9.0)[1:]]
    found = answer(log, "gradient_accumulation_steps: 4").causes[0]
    assert found.key == "loss_off_by_a_factor" and "line 1" in " ".join(found.for_it)
    assert "gradient_accumulation_steps" in found.says


@pytest.mark.parametrize("line", ["gradient_accumulation_steps: 8", "micro_batch_size: 4", "x"])
def test_another_accumulation_is_not_taken_for_the_ratio(line):
    log = rows(12, loss=lambda n: 24.0 - n, eval_loss=lambda n: 10.1 - n / 2.7, grad_norm=9.0)
    assert "loss_off_by_a_factor" not in keys(log, line)


def test_an_evaluation_before_the_first_loss_says_nothing_of_a_factor():
    log = [{"eval_loss": 10.4, "step": 0}, *rows(12, **STEEP, grad_norm=9.0)[1:]]
    assert "loss_off_by_a_factor" in keys(log)


@pytest.mark.parametrize("line", ["DPOTrainer(model, beta=0.0)", "pref_beta: 0", "--beta 0.0 --x"])
def test_a_beta_of_0_is_named(line):
    found = answer(rows(12, **ZEROS, **VARIED), line).causes
    assert [one.key for one in found] == ["beta_zero"]


def test_rewards_of_0_without_a_gradient_leave_two_causes():
    log = rows(12, **ZEROS, **VARIED, **{"rewards/accuracies": 0.0})
    found = answer(log).causes
    assert found[0].key == "no_gradient" and "or beta is 0" in found[0].says
    assert "rows_pooled_wrong" not in [one.key for one in found]


def test_rewards_of_0_beside_a_gradient_or_another_beta_are_no_beta_of_0():
    log = rows(12, **ZEROS | {"grad_norm": 0.4}, **VARIED)
    assert keys(log)[0] == "policy_is_reference"
    assert keys(rows(12, **ZEROS, **VARIED), "beta=0.1")[0] != "beta_zero"
    start = rows(12, **ZEROS | {"rewards/chosen": lambda n: n / 99}, **VARIED)
    assert "beta_zero" not in keys(start, "beta=0.0")


def test_a_model_in_bfloat16_with_a_tiny_rate_does_not_move():
    log = rows(24, **STUCK, learning_rate=6e-7)
    heads = (
        "AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)",
        "Model is initialized with precision torch.bfloat16.",
        "tune run full dtype=bf16",
    )
    for head in heads:
        assert keys(log, head)[0] == "rounding_swallows"


@pytest.mark.parametrize(
    ("head", "change"),
    [
        ("dtype=fp32", {}),
        ("dtype=bf16 peft_type=lora", {}),
        ("dtype=bf16 --deepspeed ds_z2.json", {}),
        ('  "torch_dtype": "bfloat16",', {}),  # of a configuration: it may be loaded otherwise
        ('  "dtype": "bfloat16",', {}),
        ("bf16=True", {}),
        ("dtype=bf16", {"learning_rate": 2e-4}),
        ("dtype=bf16", {"loss": lambda n: 1.6 - n / 50}),
    ],
)
def test_a_model_that_moves_or_keeps_float32_weights_is_not_accused(head, change):
    assert "rounding_swallows" not in keys(
        rows(24, **STUCK | {"learning_rate": 6e-7} | change), head
    )


def test_a_nan_of_log1p_is_explained_by_the_odds():
    found = answer([*rows(9, **ODDS), ANOMALY]).causes[0]
    assert found.key == "anomaly" and "reached 0" in found.says
    assert "odds" not in answer([*rows(9, **FALLS), ANOMALY]).causes[0].says
    other = ANOMALY.replace("Log1P", "Sqrt")
    assert "odds" not in answer([*rows(9, **ODDS), other]).causes[0].says


def cut_replies(longest: int, share: float = 0.97) -> str:
    rows = [
        {
            "loss": 0.0004 * step,
            "grad_norm": 0.02,
            "reward": 0.5 + 0.01 * (step % 3),
            "reward_std": 0.4,
            "completions/clipped_ratio": share,
            "completions/max_length": longest + step,
        }
        for step in range(8)
    ]
    settings = "GRPOConfig(max_completion_length=1024, mask_truncated_completions=True)"
    return "\n".join([settings, *map(str, rows)])


def test_replies_that_count_as_cut_and_reach_no_limit_end_with_another_token():
    (found,) = explain(cut_replies(600)).causes
    assert found.key == "stops_elsewhere" and "left out of the loss" in found.says
    assert "607 tokens" in found.for_it[1] and "1024" in found.for_it[1]


@pytest.mark.parametrize("log", [cut_replies(1017), cut_replies(600, share=0.2)])
def test_replies_at_the_limit_or_seldom_cut_are_not_laid_to_their_end(log):
    assert "stops_elsewhere" not in [one.key for one in explain(log).causes]


def test_a_log_whose_replies_are_nearly_all_cut_is_not_called_healthy():
    without = cut_replies(600).replace("max_completion_length=1024, ", "")
    assert not explain(without).is_healthy


@pytest.mark.parametrize(
    ("speeds", "is_slow"), [((5000, 15000, 520, 510), True), ((500,) * 4, False)]
)
def test_a_run_that_becomes_slow_is_not_called_healthy(speeds, is_slow):
    rows = [
        f"Step {n} | Reward: {0.3 + 0.02 * n} | Loss: 0.0001 | Throughput: {one}.0 tokens/s"
        for n, one in enumerate(speeds)
    ]
    answer = explain("\n".join(rows))
    assert any("Throughput falls from 1.5e+04 to 520" in one for one in answer.worries) is is_slow
