"""Causes that rules knew already, in logs that say them in other words."""

import math

import pytest

from tests.helpers.explained import first

TUNED = [f"step {n} loss {1.62 - n / 90000:.4f}" for n in range(100, 1100, 100)]
SETTINGS = [
    "  param_dtype: bf16 dtype: bf16",
    "  learning_rate: 3e-6",
    "gradient norm is about 2.4",
]
TABLE = ["tensor | mean abs | updated | largest", "-------|----------|---------|--------"]
ROWS = [f"h.{n}.attn.weight | 0.0213 | 1.{n}4 % | 3.1e-04" for n in range(5)]


def test_few_changed_elements_are_read_from_other_columns_and_a_rate_that_is_set():
    one = first(*SETTINGS, *TUNED, *TABLE, *ROWS)
    assert one.key == "rounding_swallows" and any("at most 1.44 %" in row for row in one.for_it)
    assert any("3e-06" in row for row in one.for_it) and any("2.4" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (SETTINGS[0], "  learning_rate: 3e-4", SETTINGS[2], *TUNED, *TABLE, *ROWS),
        ("  dtype: fp32", *SETTINGS[1:], *TUNED, *TABLE, *ROWS),
        (*SETTINGS[:2], *TUNED, *TABLE, *ROWS),
        (*SETTINGS, *TUNED, *TABLE, *(row.replace("1.", "91.") for row in ROWS)),
        (*SETTINGS, *TUNED, "task | name changed", "other", *ROWS),
        (*SETTINGS, "LoRA r=16 adapter", *TUNED, *TABLE, *ROWS),
    ],
)
def test_weights_in_float32_or_that_change_are_not_rounded_away(lines):
    one = first(*lines)
    assert one is None or one.key != "rounding_swallows"


def rate(step: int, of: int, warm: int) -> float:
    if step < warm:
        return 1e-5 * step / warm
    return 5e-6 * (1 + math.cos(math.pi * (step - warm) / (of - warm)))


CODE = ["accelerate 1.2, 4x A100", "sched = accelerator.prepare(sched)", "max_steps=800"]
WAVES = [
    f"step {step} loss {1.4 - step / 4000:.3f} lr {rate(step, 200, 20):.3e}"
    for step in range(10, 400, 10)
]


@pytest.mark.parametrize(
    "said", ["it is no cosine_with_restarts", "I did not ask for restarts", "never set num_cycles"]
)
def test_cycles_that_were_not_asked_for_hide_no_scheduler_of_each_process(said):
    one = first(*CODE, said, *WAVES)
    assert one.key == "schedule_ends_early" and "accelerate has prepared" in one.says


@pytest.mark.parametrize("said", ["lr_scheduler_type=cosine_with_restarts", "num_cycles: 2"])
def test_cycles_that_were_asked_for_are_no_fault(said):
    one = first(*CODE, said, *WAVES)
    assert one is None or "accelerate has prepared" not in one.says


FALLS = [f"{{'loss': {2 - n / 10:.2f}, 'epoch': {n / 5}}}" for n in range(1, 11)]


VOTES = ['rows: {"id": 4, "liked": "No"} {"id": 5, "liked": "Yes"}']


@pytest.mark.parametrize(
    ("rows", "compared"),
    [
        (VOTES, '== "Yes"'),
        (['{"liked": "false", "id": 3}'], '== "true"'),
        (['{"liked": "NEGATIVE", "id": 3}'], '!= "NEGATIVE"'),
    ],
)
def test_a_text_is_compared_as_the_rows_write_it(rows, compared):
    one = first('        "label": bool(x["liked"]),', *rows, *FALLS)
    assert one.key == "labels_constant" and compared in one.fix


PAIRS = [
    f"{{'loss': 0.6{n}, 'grad_norm': 2.1, 'accuracy': 0.3, 'margin': 0.{n}, 'epoch': {n / 10}}}"
    for n in range(1, 9)
]
LENGTHS = "tokens of context + query: median 2210, p90 4002"
SAME = [f"{n}: score_chosen={n}.4125 score_rejected={n}.4125" for n in range(1, 6)]
APART = [f"{n}: score_chosen={n}.4125 score_rejected=-{n}.2125" for n in range(6, 9)]
LIMIT = "max_length=1024, truncation=True"


def test_pairs_that_are_cut_to_their_context_are_told_by_named_scores():
    one = first(LIMIT, LENGTHS, *PAIRS, *SAME, *APART)
    assert one.key == "pairs_alike" and "5 of 8 pairs" in one.for_it[2]


@pytest.mark.parametrize(
    "lines",
    [
        (LIMIT.replace("1024", "8192"), LENGTHS, *PAIRS, *SAME, *APART),
        (LIMIT, LENGTHS, *PAIRS, *APART, *APART),
        (LIMIT, "tokens of question + answer: median 2210", *PAIRS, *SAME, *APART),
        (LIMIT + ", truncation_side='left'", LENGTHS, *PAIRS, *SAME, *APART),
    ],
)
def test_pairs_that_fit_or_are_told_apart_are_not_cut(lines):
    one = first(*lines)
    assert one is None or "cut away" not in one.says
