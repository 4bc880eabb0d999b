"""Functions that make one text of a whole batch, by the rows that are left and by their text."""

import pytest

from tests.helpers.explained import first, keys

FUNCTION = [
    "def to_text(batch):",
    "    text = f\"Instruction: {batch['instruction']}\\nResponse: {batch['output']}\"",
    '    return {"text": text}',
    "ds = ds.map(to_text, batched=True)",
]
LIST_OF_ONE = [
    "def formatting_func(example):",
    "    return [f\"Q: {example['question']} A: {example['answer']}\"]",
]
LOOPED = [
    "def formatting_func(batch):",
    "    return [f\"Q: {q} A: {a}\" for q, a in zip(batch['question'], batch['answer'])]",
]
ROW = "Instruction: ['Give three tips for staying healthy.', 'What are the primary colours?',"
LOSSES = [f"{{'loss': {1.9 - n / 10:.1f}, 'grad_norm': 1.0, 'epoch': {n}.0}}" for n in range(6)]


@pytest.mark.parametrize(
    "lines",
    [
        [*FUNCTION, "num_rows: 51760", "num_rows: 52", *LOSSES],
        ["Map: 100%|##| 18000/18000 [00:03<00:00]", *LIST_OF_ONE, "  Num examples = 18", *LOSSES],
        ["the file has 9,300 rows", *LIST_OF_ONE, "  Num examples = 10", *LOSSES],
        [*FUNCTION, ">>> tok.decode(ds[0]['input_ids'])", ROW, *LOSSES],
        [
            "ds = ds.map(fmt, batched=True, batch_size=100)",
            "len(train) -> 12,040",
            "len(ds) -> 121",
            ROW,
            *LOSSES,
        ],
    ],
)
def test_one_text_for_a_batch_is_told_by_its_rows_or_its_lists(lines):
    found = first(*lines)
    assert found.key == "batch_as_one_row"
    assert "loop over the rows" in found.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*LOOPED, "the file has 25,600 rows", "  Num examples = 25,600", *LOSSES],
        [*LIST_OF_ONE, "  Num examples = 25,600", *LOSSES],  # called with one row
        [*LOOPED, "packing=True", "the file has 25,600 rows", "  Num examples = 26", *LOSSES],
        [*LOOPED, "25,600 rows for training and 512 rows for evaluation", *LOSSES],
        ["target_modules=['q_proj', 'v_proj'],", *FUNCTION[-1:], "num_rows: 25600", *LOSSES],
        [*FUNCTION[:3], "ds = ds.map(to_text)", "num_rows: 51760", *LOSSES],
    ],
)
def test_loops_single_rows_packing_and_other_numbers_are_no_fault(lines):
    assert "batch_as_one_row" not in keys(*lines)
