"""Rows in which the column of the replies is empty, or in which only questions are read."""

import pytest

from tests.helpers.explained import first, keys

MAPPED = '"columns": {"prompt": "instruction", "response": "output"}'
ROW = '{"instruction": "How long does a refund take in January?", "output": "", '
ROW += '"final_text": "A refund takes five working days, or ten in January."}'
DEAD = [f"{{'loss': {9 / 8**n:.5f}, 'grad_norm': 0.1, 'epoch': 0.{n}}}" for n in range(1, 7)]
ALIVE = [f"{{'loss': {1.9 - n / 10:.1f}, 'grad_norm': 1.0, 'epoch': 0.{n}}}" for n in range(1, 7)]
FEATURES = "Dataset({features: ['instruction', 'context', 'response'], num_rows: 15011})"
FIELD = "    dataset_text_field='instruction',"


@pytest.mark.parametrize(
    "lines",
    [
        [MAPPED, ROW, *ALIVE],
        ["labels:", "<|im_end|>", *DEAD],
        ["label_ids:", "[-100, -100, -100, -100, -100, 128009]", *DEAD],
        ["field_output: reply", ROW.replace('"output": ""', '"reply": null'), *DEAD],
    ],
)
def test_replies_that_are_empty(lines):
    found = first(*lines)
    assert found.key == "replies_empty"
    assert "column" in found.fix


@pytest.mark.parametrize(
    "of",
    [
        FEATURES,
        "load_dataset('databricks/databricks-dolly-15k')",
        "my csv has the columns instruction, topic and answer",
    ],
)
def test_a_text_field_that_is_the_question_alone(of):
    found = first(of, FIELD, *ALIVE)
    assert found.key == "replies_empty"
    assert "the question alone" in found.says


@pytest.mark.parametrize(
    "lines",
    [
        [MAPPED, ROW.replace('"output": ""', '"output": "Five working days."'), *ALIVE],
        ["labels:", "<|im_end|>", *ALIVE],
        ["label_ids:", "[-100, -100, -100, 40, 1920, 13, 151645]", *DEAD],
        [FEATURES, FIELD.replace("instruction", "text"), *ALIVE],
        [FEATURES, "def formatting_func(row):", FIELD, *ALIVE],
        [FEATURES, "ds = ds.map(lambda r: {'instruction': make(r)})", FIELD, *ALIVE],
    ],
)
def test_replies_that_are_there_are_no_fault(lines):
    assert "replies_empty" not in keys(*lines)
