"""Which tokens a setting counts, and gold answers that a verifier cannot parse."""

import json

import pytest
from explain_shapes import rows, turns

from course_utils.explain import explain

LIGER = "  use_liger_kernel: true"
TOOLS = "trainer = GRPOTrainer(model, tools=[look_up], args=args)"
GRPO = {"loss": 0.01, "reward_std": 0.3, "reward": lambda n: 0.5 - n / 60}
DIES = {"tools/call_frequency": lambda n: 2.0 - n / 7, "grad_norm": turns(0.2, 1.1, 4)}
LAST = "PRMConfig(train_on_last_step_only=True)"
RULER = ["last step    0.944", "intermediate steps   0.532"]


def answer(log: list[dict], *before: str, behind: tuple[str, ...] = ()):
    return explain("\n".join([*before, *map(json.dumps, log), *behind]) + "\n")


def keys(log: list[dict], *before: str) -> list[str]:
    return [one.key for one in answer(log, *before).causes]


def test_calls_that_die_out_behind_a_fused_loss_are_of_tool_results_in_the_loss():
    one = answer(rows(12, **GRPO, **DIES), LIGER, TOOLS).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "tool_results_learnt" and "use_liger_kernel=False" in one.fix
    assert "line 1" in told and "0.2 at line 6" in told and "1.1 at line 7" in told
    assert one.at.where == "line 7"


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ([TOOLS], {}),
        ([LIGER.replace("true", "false"), TOOLS], {}),
        ([LIGER, TOOLS], {"tools/call_frequency": lambda n: 1.9 + n % 3 / 20}),
        ([LIGER, TOOLS], {"reward": lambda n: 0.3 + n / 40, "grad_norm": 0.2}),  # not needed
    ],
)
def test_other_calls_are_not_of_tool_results_in_the_loss(before, change):
    assert "tool_results_learnt" not in keys(rows(12, **GRPO | DIES | change), *before)


def judged(rises: float) -> list[dict]:
    shown = rows(9, loss=lambda n: 0.6 - n / 20, grad_norm=lambda n: 3 + n % 4 / 9)
    losses = rows(9, eval_loss=lambda n: 0.6 + rises * n, eval_accuracy=lambda n: 0.7 - n / 999)
    return [one for pair in zip(shown, losses, strict=True) for one in pair]


def test_steps_without_a_label_are_named_where_all_are_judged():
    one = answer(judged(0.04), LAST, behind=tuple(RULER)).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "last_step_alone" and "train_on_last_step_only=False" in one.fix
    assert "0.944" in told and "0.532" in told


def test_an_evaluation_that_gets_better_accuses_no_setting():
    assert "last_step_alone" not in keys(judged(-0.03), LAST)
    assert "last_step_alone" not in keys(judged(0.04), LAST.replace("True", "False"))


PART = {"rewards/right": 0.25, "rewards/short": lambda n: 0.2 + n / 30}
VERIFIER = [
    "def right(completions, answer, **kwargs):",
    "    gold = parse(answer[0], extraction_config=[LatexExtractionConfig()])",
    "    if not gold:",
    "        return 0.25",
]
BARE = "row 0: {'question': 'What is six times seven?', 'answer': '42'}"


def test_gold_answers_that_are_no_latex_are_the_constant():
    one = answer(rows(8, **PART), *VERIFIER, BARE).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "constant_part" and "'42'" in one.says and "ExprExtractionConfig" in one.fix
    assert "line 2" in told and "line 4" in told and "line 5" in told


@pytest.mark.parametrize(
    "before",
    [
        [*VERIFIER, BARE.replace("'42'", "'$42$'")],
        [VERIFIER[1].replace("()]", "(), ExprExtractionConfig()]"), BARE],
        [BARE],
    ],
)
def test_a_constant_of_another_reason_is_left_open(before):
    one = answer(rows(8, **PART), *before).causes[0]
    assert one.key == "constant_part" and "ExprExtractionConfig" not in one.fix


def test_memory_that_ran_out_before_another_job_went_on_is_not_called_survived():
    log = [json.dumps(one) for one in rows(8, loss=lambda n: 2 - n / 9, grad_norm=0.4)]
    full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    told = explain("\n".join([*log[:4], full, *log[4:]]) + "\n")
    assert "memory_survived" in [one.key for one in told.findings]
    told = explain("\n".join([*log[:4], full, "job 2, resumed at 4", *log[4:]]) + "\n")
    assert not {"memory_survived", "cuda_memory"} & {one.key for one in told.findings}
