"""Rows joined under an attention that does not keep them apart, and prompts that a service lays
out otherwise than the training did."""

import pytest

from tests.helpers.explained import first


def run(start: float):
    return [
        f"{{'loss': {start - n / 10:.4f}, 'grad_norm': 2.{n}, 'lr': 1e-05, 'epoch': 0.{n}}}"
        for n in range(1, 6)
    ]


PADDED = ["padding_free: false", *run(1.6)]
JOINED = ["padding_free: true", "attn_implementation: eager", *run(3.1)]


def test_joined_rows_that_the_attention_does_not_keep_apart():
    one = first(*PADDED, *JOINED)
    assert one.key == "packing_leak" and "runs eager" in one.says
    assert any("loss 3 with it" in row and "loss 1.5 without it" in row for row in one.for_it)
    told = "With it the loss begins at 3.02 instead of 1.34, and I do not know why."
    assert first("train.py --padding_free --bf16", "sdpa", *run(3.1), told).key == "packing_leak"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("eager", "flash_attention_2"),
        ("attn_implementation: eager", "attn_implementation: eager\nflash_attention_2"),
        ("3.", "1."),  # the loss is no higher
        ("padding_free: true", "padding_free: false"),
    ],
)
def test_rows_that_are_kept_apart_or_learn_as_well_are_no_fault(old, new):
    joined = "\n".join([JOINED[0], JOINED[1], *run(1.61 if old == "3." else 3.1)])
    one = first(*PADDED, joined.replace(old, new) if old != "3." else joined)
    assert one is None or one.key != "packing_leak"


TRAINED = ["train_dataset[0]['text']:", "[INST] Name the colour. [/INST] red</s>", *run(1.2)]
SERVED = [
    r'r = client.completions.create(model="m", prompt=f"### Instruction: {q}\n### Response:")',
    "accuracy: 0.91  (in process, generate())",
    "accuracy: 0.52  (endpoint)",
]


def test_a_service_that_asks_in_another_form():
    one = first(*TRAINED, *SERVED)
    assert one.key == "template_differs" and "[INST]" in one.says and "### Instruction" in one.says
    assert any("0.52 through the service" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'prompt=f"### Instruction: {q}\n### Response:"', 'prompt=f"[INST] {q} [/INST]"'),
        ("client.completions.create", "client.chat.completions.create"),
        ("0.52", "0.90"),
        ("(endpoint)", "(base model, vllm)"),
        ("[INST] Name the colour. [/INST] red", "### Instruction: Name it.\n### Response: red"),
    ],
)
def test_a_service_of_the_same_form_or_as_good_is_not_accused(old, new):
    one = first("\n".join([*TRAINED, *SERVED]).replace(old, new))
    assert one is None or "the service asks" not in one.says
