"""A loss of 0 or nan from the first entry on: a format, or a mark that is in no row."""

import pytest

from tests.helpers.explained import first, key

DEAD = [f"step {n} loss 0.0 grad_norm nan lr 3e-4" for n in range(10, 70, 10)]
ALIVE = [f"step {n} loss {3.2 - n / 50:.2f} grad_norm 1.1 lr 3e-4" for n in range(10, 70, 10)]
WIDER = ['model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-xl")', "fp16=True,"]
ROW = "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHello"
MARK = 'response_template = "<|start_header_id|>assistant<|end_header_id|>"'


@pytest.mark.parametrize(
    "lines",
    [WIDER, ["model_name: google/gemma-3-4b-it", "fp16: true"], ["--model_name mt5-small --fp16"]],
)
def test_a_family_made_in_bfloat16_that_is_dead_in_float16_has_left_its_range(lines):
    one = first(*lines, *DEAD)
    assert one.key == "fp16_overflow" and "65504" in one.says and "float32" in one.fix
    assert any("the rate is 0.0003 in all" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        [*WIDER, *ALIVE],
        [WIDER[0], "bf16=True,", *DEAD],
        ["model_name: facebook/opt-1.3b", "fp16: true", *DEAD],
        [WIDER[0], "fp16=False,", *DEAD],
        [*WIDER, *ALIVE, *(row.replace("step ", "step 1") for row in DEAD)],
    ],
)
def test_another_format_or_model_or_a_run_that_lived_is_not_called_out_of_range(lines):
    assert key(*lines) != "fp16_overflow"


def test_a_schedule_that_is_constant_is_no_sign_of_skipped_steps():
    one = first(*WIDER, "lr_scheduler_type=constant", *DEAD)
    assert one.key == "fp16_overflow" and not any("the rate is" in row for row in one.for_it)


def test_a_mark_of_another_template_than_the_rows_leaves_no_label():
    one = first(MARK, *DEAD, "a row:", *ROW.splitlines())
    assert one.key == "labels_masked" and "<start_of_turn>model" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [MARK, *ALIVE, *ROW.splitlines()],
        ['response_template = "<start_of_turn>model"', *DEAD, *ROW.splitlines()],
        [MARK, *DEAD],
        [MARK, *DEAD, *ROW.splitlines(), "<|start_header_id|>assistant<|end_header_id|>"],
    ],
)
def test_a_mark_that_rows_may_have_is_not_accused(lines):
    one = first(*lines)
    assert one is None or one.key != "labels_masked"
