"""Pairs with one score, whose padding is the end token; and rows that hold prompts alone."""

import pytest

from tests.helpers.explained import first

CODE = ["tok.pad_token = tok.eos_token", "model = AutoModelForSequenceClassification(path)"]
HALVES = [f"pair {n}: [0.5, 0.500{n}]" for n in range(4)]


def losses(moves: float = 0.0, norm: float = 2e-6):
    return [
        f"{{'loss': {0.6931 - n * moves:.4f}, 'grad_norm': {norm}, 'learning_rate': 1e-05}}"
        for n in range(8)
    ]


@pytest.mark.parametrize("rows", [losses(), (*losses(norm=0.4), *HALVES)])
def test_pairs_with_one_score_are_read_where_both_are_alike(rows):
    one = first(*CODE, *rows)
    assert one.key == "rows_pooled_wrong" and "one score" in one.says and "of its own" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (*CODE, *losses(moves=0.02)),
        (*CODE, *losses(norm=0.4)),
        ("tok.pad_token = '<pad>'", CODE[1], *losses()),
        (CODE[0], *losses()),
        (*CODE, *losses()[:3]),
    ],
)
def test_a_loss_that_moves_or_another_padding_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "rows_pooled_wrong"


REFUSED = "ValueError: Asking to pad but the tokenizer does not have a padding token."


def test_a_refusal_before_the_run_is_mended_by_it():
    assert first(REFUSED, *CODE, *losses()).key == "rows_pooled_wrong"
    assert first(REFUSED).key == "no_pad_token"
    assert first(*losses(), REFUSED).key == "no_pad_token"


SETTING = "SFTConfig(max_length=12, completion_only_loss=True, packing=False)"
WORDS = "Tell me, in one word, what the weather was like in Oslo, then stop."
PROMPT = str({"prompt": WORDS, "completion": " Wet"})


def nan_rows(tokens=lambda n: 48.0 * n, norm: str = "nan"):
    return [
        f"{{'loss': 0.0, 'grad_norm': {norm}, 'num_tokens': {tokens(n)}, "
        f"'mean_token_accuracy': 0.0, 'epoch': 0.{n}}}"
        for n in range(1, 9)
    ]


def test_rows_as_long_as_the_limit_hold_prompts_alone():
    one = first(SETTING, PROMPT, *nan_rows())
    assert one.key == "labels_masked" and "4 x 12" in one.for_it[0] and "prompt of" in one.for_it[1]


@pytest.mark.parametrize(
    "lines",
    [
        (SETTING, *nan_rows()),
        (SETTING, PROMPT, *nan_rows(lambda n: 47.0 * n)),
        (SETTING.replace("12", "48"), PROMPT, *nan_rows()),
        (SETTING.replace("packing=False", "packing=True"), PROMPT, *nan_rows()),
        (SETTING.replace("completion_only_loss=True, ", ""), PROMPT, *nan_rows()),
    ],
)
def test_a_nan_with_shorter_rows_or_prompts_has_another_cause(lines):
    assert first(*lines).key != "labels_masked"
