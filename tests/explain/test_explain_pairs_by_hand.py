"""Loops of their own over pairs: rates of SFT, the first padding, a truth of text."""

import pytest

from tests.helpers.explained import first, keys


def pairs(rate: float, to: float, lost: float = 2.0):
    return [
        f"{{'loss': {0.7 + 0.05 * (n % 3):.3f}, 'learning_rate': {rate}, 'rewards/chosen': "
        f"{to * n / 8:.3f}, 'rewards/rejected': {1.3 * to * n / 8 - 0.3:.3f}, "
        f"'rewards/accuracies': 0.7{n}, 'rewards/margins': {0.3 - 0.3 * to * n / 8:.3f}, "
        f"'logps/chosen': {-280 + 10 * lost * to * n / 16:.2f}, 'logps/rejected': -270.{n}}}"
        for n in range(9)
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["finetuning_type: full", *pairs(1e-5, -18)], "whole model"),
        (["took the SFT config as it is", *pairs(2e-5, -12)], "whole model"),
        (["lora_rank: 64", *pairs(2e-4, -12)], "adapter"),
    ],
)
def test_dpo_at_a_rate_of_sft_is_named(lines, words):
    one = first(*lines)
    assert one.key == "thrown_about" and words in one.says and "learning rate" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ["finetuning_type: full", *pairs(1e-5, -1.5)],
        ["finetuning_type: full", *pairs(5e-7, -8)],
        ["lora_rank: 64", *pairs(2e-5, -8)],
        ["pref_loss: simpo", *pairs(1e-5, -18)],
    ],
)
def test_usual_rates_and_runs_that_hold_are_not_accused(lines):
    one = first(*lines)
    assert one is None or "supervised training" not in one.says


PAD = "tokenizer.pad_token = tokenizer.eos_token"
AT_FIRST = "end = (ids == self.pad_id).int().argmax(-1) - 1"
EQUAL = [f"step {n} loss 0.6931 acc 0.0 chosen 0.412{n} rejected 0.412{n}" for n in range(5)]
APART = [f"step {n} loss 0.6{9 - n}1 acc 0.6 chosen 0.41{n} rejected 0.21{n}" for n in range(5)]


@pytest.mark.parametrize(
    "code", [AT_FIRST, "n = torch.eq(input_ids, self.config.pad_token_id).long().argmax(-1) - 1"]
)
def test_a_score_in_front_of_the_first_padding_is_named(code):
    one = first(PAD, code, *EQUAL)
    assert one.key == "rows_pooled_wrong" and "padding" in one.says and "padding token" in one.fix


@pytest.mark.parametrize(
    "lines",
    [[PAD, AT_FIRST, *APART], ["tok.pad_token = '<|pad|>'", AT_FIRST, *EQUAL], [PAD, *EQUAL]],
)
def test_scores_that_differ_and_a_padding_of_its_own_are_not_accused(lines):
    assert "rows_pooled_wrong" not in keys(*lines)


def unpaired(rejected: str = "nan"):
    return [
        f"{{'loss': 0.4{n}, 'rewards/chosen': 0.{n}, 'rewards/rejected': {rejected}}}"
        for n in range(1, 7)
    ]


@pytest.mark.parametrize(
    "code",
    [
        'df["label"] = df["thumbs_up"].astype(str).apply(bool)',
        "label = bool(str(row['liked']))",
        'df["label"] = df.liked.astype("str").map(bool)',
    ],
)
def test_a_truth_of_text_is_named(code):
    one = first(code, *unpaired())
    assert one.key == "labels_constant" and 'bool("False")' in one.says and "compare" in one.fix


@pytest.mark.parametrize(
    "code",
    [
        'df["label"] = df["thumbs_up"].astype(bool)',
        'df["label"] = df["thumbs_up"].astype(str) == "True"',
    ],
)
def test_real_booleans_are_not_accused(code):
    assert "labels_constant" not in keys(code, *unpaired("-0.2"))
