"""Rows that are cut before their reply, pairs of which only the prompt is left, and text that is
taken for a boolean."""

import pytest

from tests.helpers.explained import first

ERROR = "RuntimeError: all labels are -100 in this set, check the marks of the reply"
LENGTHS = [">>> min(map(len, d['input_ids'])), max(map(len, d['input_ids']))", "(512, 512)"]
FRONT = [">>> min(prompt_len), max(prompt_len)   # tokens before the reply", "(790, 4021)"]


def test_rows_of_one_length_are_cut_before_their_reply():
    one = first(ERROR, *LENGTHS, *FRONT)
    assert one.key == "labels_masked" and "exactly 512" in one.says and "790" in one.says
    assert "the message guesses" not in first(ERROR, *LENGTHS).says


@pytest.mark.parametrize(
    ("old", "new"),
    [("(512, 512)", "(87, 512)"), ("(512, 512)", "512 rows"), ("RuntimeError: all labels", "Now")],
)
def test_rows_of_several_lengths_or_with_labels_are_not_said_to_be_cut(old, new):
    one = first("\n".join([ERROR, *LENGTHS, *FRONT]).replace(old, new))
    assert one is None or "exactly" not in one.says


def test_packed_rows_are_all_of_one_length():
    one = first("packing=True", ERROR, *LENGTHS)
    assert one is None or "exactly" not in one.says


TIES = [
    f"it {n} loss 0.693{n % 3} acc 0.01 score_chosen 0.31 score_rejected 0.31 lr 1e-5"
    for n in range(1, 10)
]
LIMIT = "max_length: 1024"
PROMPTS = "prompt length in tokens: min 1100, median 2300, max 9000"
SCORES = ["0.512  0.512", "0.431  0.431", "0.618  0.618", "0.377  0.402", "0.590  0.590"]


def test_pairs_of_long_prompts_are_one_prompt_once_they_are_cut():
    one = first(LIMIT, PROMPTS, *TIES, *SCORES)
    assert one.key == "pairs_alike" and "1024" in one.says and "1100" in one.says
    assert any("4 of 5 pairs" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max_length: 1024", "max_length: 8192"),
        ("max_length: 1024", "max_length: 1024, truncation_side: left"),
        ("max_length: 1024", "max_length: 1024\nmax_prompt_length: 512"),
        ("min 1100, median 2300", "min 40, median 210"),
        ("acc 0.01", "acc 0.53"),
    ],
)
def test_pairs_that_fit_or_keep_their_end_are_not_blamed(old, new):
    lines = "\n".join([LIMIT, PROMPTS, *TIES]).replace(old, new)
    one = first(lines)
    assert one is None or "cut at" not in one.says


TEXT = ['{"text": "so it goes", "good": "no"}', '{"text": "well", "good": "yes"}']
RUN = [f"{{'loss': {0.5 - n / 40:.3f}, 'rewards/chosen': 0.{n}, 'kl': 0.1}}" for n in range(1, 8)]


@pytest.mark.parametrize("code", ['bool(row["good"])', "bool(row.good)", 'df["good"].astype(bool)'])
def test_a_text_of_no_is_true_to_bool(code):
    one = first(*TEXT, f"rows = rows.map(lambda row: {code})", *RUN)
    assert one.key == "labels_constant" and 'bool("no") is True' in one.says
    assert any("none of rejected" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"no"', "false"), ("bool(row", "is_good(row"), ('row["good"]', 'row["text"]')],
)
def test_booleans_and_other_columns_are_not_blamed(old, new):
    code = 'rows = rows.map(lambda row: bool(row["good"]))'
    assert first("\n".join([*TEXT, code, *RUN]).replace(old, new)) is None
