"""A dump of labels, and what else beside a run tells of the end of its replies."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

FALLS = {"loss": lambda n: 1.6 - n / 20, "grad_norm": 0.5, "learning_rate": 1e-4}
COMPLAINT = "Its answers are right and then it never stops."
ASKED = "<bos>(-100, 2) Hi(-100, 41) you(-100, 45) <end>(-100, 9)"
TOLD = "Good(77, 77)  day(78, 78)  to(51, 51)  you(45, 45) <end>(-100, 9)"
HIDDEN = f"{ASKED} {TOLD}"


def answer(*before: str):
    return explain("\n".join([*before, *map(json.dumps, rows(9, **FALLS))]) + "\n")


def test_an_end_without_a_label_behind_words_with_one_is_not_learnt():
    one = answer(COMPLAINT, HIDDEN).causes[0]
    assert one.key == "end_masked" and not one.against
    assert "<end>(-100, 9)" in " ".join(one.for_it) and "eot_tokens" in one.fix


def test_an_end_on_the_next_line_is_read():
    one = answer(COMPLAINT, ASKED, TOLD).causes[0]
    assert one.key == "end_masked" and not one.against
    assert one.look == ""  # the dump shows the label


@pytest.mark.parametrize(
    "dump",
    [
        HIDDEN.replace("you(45, 45) <end>(-100, 9)", "you(45, 45) <end>(9, 9)"),
        "<bos>(-100, 2) Hi(-100, 41) <end>(-100, 9)",  # the row of a prompt alone
        TOLD.replace("<end>", "and"),  # an ordinary word is masked
        TOLD.replace("<end>", "<pad>"),
        TOLD.replace("<end>", "<|turn>"),  # the next turn begins
    ],
)
def test_a_label_dump_that_shows_no_end_masked_is_silent(dump):
    assert all(one.against for one in answer(COMPLAINT, dump).causes if one.key == "end_masked")
    assert not answer(dump).causes


PRINTED = ("[DEBUG] EOS: 1 / <eos>", "[DEBUG] PAD: 0 / <pad>")


@pytest.mark.parametrize(
    "lines",
    [PRINTED, ("pad_token_id=0, eos_token_id=2",), ("pad_token: <pad>", "eos_token: </s>")],
)
def test_padding_and_end_that_are_printed_apart_are_not_one(lines):
    assert "pad_is_eos" in [one.key for one in answer(COMPLAINT).findings]
    assert "pad_is_eos" not in [one.key for one in answer(COMPLAINT, *lines).findings]


@pytest.mark.parametrize(
    "lines",
    [
        ("[DEBUG] EOS: 2 / </s>", "[DEBUG] PAD: 2 / </s>"),
        ("pad_token_id=2, eos_token_id=2",),
        ("tokenizer.pad_token = tokenizer.eos_token",),
    ],
)
def test_padding_and_end_that_are_one_stay_a_cause(lines):
    assert "pad_is_eos" in [one.key for one in answer(COMPLAINT, *lines).findings]
