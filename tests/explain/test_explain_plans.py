"""What the start of a run says of it: its steps, its template, who prepares its data."""

import pytest

from tests.helpers.explained import answer, keys

ROWS = [
    f"{{'loss': {1.5 - n / 20:.2f}, 'grad_norm': 1.2, 'learning_rate': 1e-05, "
    f"'global_step/max_steps': '{10 * n}/900'}}"
    for n in range(1, 9)
]
END = (
    "{{'train_runtime': 0.86, 'train_samples_per_second': 1423.4, 'train_loss': 0.0, "
    "'epoch': 0.35, 'global_step/max_steps': '{}/{}'}}"
)


def test_a_run_that_goes_on_behind_its_own_end_trains_nothing():
    one = answer(*ROWS, "--resume_from_checkpoint out/checkpoint-700", END.format(700, 300))
    cause = one.causes[0]
    assert cause.key == "resumed_at_its_end" and "700" in cause.says and "300" in cause.says
    assert any("checkpoint-700" in told for told in cause.for_it)


def test_the_words_of_transformers_tell_the_same():
    begun = "  Continuing training from global step 35,200".replace(",", "")
    assert keys("Total optimization steps = 30,255", begun)[:1] == ["resumed_at_its_end"]
    assert not keys("Total optimization steps = 90,255", begun)


def test_a_run_that_reaches_its_end_is_not_accused():
    assert "resumed_at_its_end" not in keys(*ROWS, END.format(900, 900))


PLAN = ("Num examples = 467 | Num Epochs = 5", "Total batch size = 8 | Total steps = {}")


@pytest.mark.parametrize(("planned", "is_named"), [(2900, True), (295, False), (300, False)])
def test_a_plan_is_held_against_the_rows(planned, is_named):
    lines = (PLAN[0], PLAN[1].format(planned), *ROWS)
    assert ("schedule_too_slow" in keys(*lines)) == is_named


BARS = ["  0%|          | 0/{} [00:00<?, ?it/s]", "Steps:   0%|  | 0/{} [00:00<?, ?it/s]"]


@pytest.mark.parametrize("bar", BARS)
def test_the_first_bar_of_the_run_is_its_plan(bar):
    lines = (PLAN[0], PLAN[1].format(295), bar.format(1475), *ROWS)
    assert "schedule_too_slow" in keys(*lines)


@pytest.mark.parametrize(
    "bar",
    [
        "Eval dataset logps: 100%|####| 1475/1475 [21:44<00:00,  1.46it/s]",
        "Epoch 1:   3%|#  | 44/1475 [21:44<00:00,  1.46it/s]",
        "[rank0] Precompute:   3%|#  | 44/1475 [21:44<00:00,  1.46it/s]",
    ],
)
def test_a_bar_of_another_name_is_no_plan(bar):
    lines = (bar, PLAN[0], PLAN[1].format(295), bar, *ROWS)
    assert "schedule_too_slow" not in keys(*lines)


def test_the_bar_of_an_evaluation_and_that_before_the_rows_are_no_plan():
    before, now, judges = (BARS[0].format(many) for many in (1475, 295, 1475))
    lines = (before, PLAN[0], PLAN[1].format(295), now, *ROWS, judges)
    assert "schedule_too_slow" not in keys(*lines)


REPLIES = [
    f"{{'loss': 0.01, 'grad_norm': 0.2, 'reward': {0.3 + n / 50}, 'reward_std': 0.3}}"
    for n in range(8)
]


@pytest.mark.parametrize(
    ("said", "planned", "is_named"),
    [
        ("num_generations=4", 1165, False),  # 8 replies are 2 prompts
        ("--rloo_k 4", 1165, False),
        ("num_generations=4", 4660, True),
        ("trainer = GRPOTrainer(model)", 1165, False),  # how many replies is not said
    ],
)
def test_rows_a_step_are_prompts_where_each_has_several_replies(said, planned, is_named):
    lines = (said, PLAN[0], PLAN[1].format(planned), *REPLIES)
    assert ("schedule_too_slow" in keys(*lines)) == is_named


@pytest.mark.parametrize(
    ("template", "model", "is_named"),
    [
        ("llama3", "base/Qwen2.5-7B-Instruct", True),
        ("qwen", "meta-llama/Meta-Llama-3-8B-Instruct", True),
        ("qwen", "Qwen/Qwen3-8B", False),
        ("chatml", "mistralai/Mistral-7B-v0.1", False),  # of no family
        ("qwen", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", False),
        ("llama3", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B", False),  # which one is not said
    ],
)
def test_a_template_is_held_against_the_model(template, model, is_named):
    lines = (
        f"model_name_or_path: {model}",
        f"template: {template}",
        "after the training its replies never stop, and before it they did",
    )
    assert ("template_differs" in keys(*lines, *ROWS)[:1]) == is_named


def test_a_template_of_another_name_is_no_fault_where_nothing_is_said_of_replies():
    lines = ("base_model: mistralai/Mistral-7B-v0.1", "template: llama3", *ROWS)
    assert "template_differs" not in keys(*lines)


WAIT = (
    "[E ProcessGroupNCCL.cpp:475] [Rank {}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for "
    "1800328 milliseconds before timing out."
)


@pytest.mark.parametrize(("done", "is_named"), [(280000, True), (2969526, False)])
def test_who_waits_for_the_preparation_of_the_data_is_told_so(done, is_named):
    bar = f"Running tokenizer on dataset:   9%|#  | {done}/2969526 [29:55<4:48:08, 155.57 ex/s]"
    one = answer(bar, WAIT.format(1), WAIT.format(2)).causes[0]
    assert one.key == "ranks_disagree" and ("prepares the data" in one.says) == is_named
