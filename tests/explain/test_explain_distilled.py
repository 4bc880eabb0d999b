"""Students and teachers: one tokenizer for both, and a divergence that is one."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

STUDENT, TEACHER = (
    "student_model: Qwen/Qwen3-1.7B-Base",
    "teacher_model_name='google/gemma-3-27b-it'",
)
NOISE = {"student_logprob": -0.6, "teacher_logprob": lambda n: -11.9 + n / 5, "loss": 11.3}
MODE = "  distill.loss: kl_topk"
FALLS = {"distill/loss": lambda n: 0.3 - n / 20, "entropy": lambda n: 0.4 + n / 3, "lr": 1e-5}


def answer(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n")


def keys(log: list[dict], *before: str) -> list[str]:
    return [one.key for one in answer(log, *before).causes]


def test_a_teacher_of_another_family_that_finds_fluent_text_improbable_reads_other_ids():
    one = answer(rows(8, **NOISE), STUDENT, TEACHER).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "other_tokenizer" and "Gemma 3" in one.says and "-12.48" in told
    assert "line 1" in told and "line 2" in told and "-11.9" in told


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ([STUDENT, "teacher_model: Qwen/Qwen2.5-72B-Instruct"], {}),  # one tokenizer
        ([STUDENT, TEACHER, "trainer: GOLDTrainer, use_uld_loss: true"], {}),
        ([STUDENT, TEACHER], {"teacher_logprob": -1.1, "loss": 0.5}),
        ([STUDENT, TEACHER], {"student_logprob": -9.0}),  # the text itself is noise
        ([STUDENT], {}),
    ],
)
def test_another_teacher_is_not_said_to_read_other_ids(before, change):
    assert "other_tokenizer" not in keys(rows(8, **NOISE | change), *before)


def test_a_kl_of_the_top_tokens_that_falls_below_0_is_none():
    told = answer(rows(12, **FALLS), MODE).causes
    assert [one.key for one in told] == ["kl_of_a_part"]
    assert "top-k" in told[0].says and "line 9" in " ".join(told[0].for_it)
    assert "bucket for all other tokens" in told[0].fix


def test_a_kl_below_0_of_which_no_line_says_how_it_is_summed_is_left_open():
    one = answer(rows(12, **FALLS), "kd_loss_type: reverse_kl").causes[0]
    assert one.key == "kl_of_a_part" and "or a mean" in one.says and "line 1" in str(one.for_it)


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ([], {}),  # nothing names it a KL
        ([MODE, "log-probs are renormalised over the top-k"], {}),
        ([MODE], {"distill/loss": lambda n: 0.3 / (n + 1)}),
        ([MODE], {"distill/loss": lambda n: 0.02 - n % 2 / 30}),  # noise around 0
    ],
)
def test_a_divergence_that_is_one_is_not_accused(before, change):
    assert "kl_of_a_part" not in keys(rows(12, **FALLS | change), *before)
