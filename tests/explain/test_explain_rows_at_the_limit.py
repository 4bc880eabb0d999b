"""Rows that a limit cuts: counts by length, labels beside answers, pairs that fork too late."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

FALLS = {"loss": lambda n: 1.6 - n / 20, "grad_norm": 0.5, "learning_rate": 1e-4}
LIMIT = "cutoff_len: 768"
BINS = ["lengths of the rows", " 1 - 400 : 210", " 401 - 767 : 640", " 768 : 4100"]
OFF = '  "...and the committee then"'


def first(*lines: str):
    text = [*lines, *map(json.dumps, rows(9, **FALLS))]
    return next(iter(explain("\n".join([*text, ""])).causes), None)


def test_a_histogram_whose_last_bin_is_the_limit_shows_rows_that_are_cut():
    one = first(LIMIT, *BINS, OFF)
    assert one.key == "too_long" and "83%" in one.says and "breaks off there itself" in one.says
    assert "beginnings alone" in first(LIMIT, *BINS).says


@pytest.mark.parametrize(
    "lines",
    [
        (LIMIT, *BINS[:-1], " 768 : 90"),  # few of them
        (LIMIT, "packing: true", *BINS),
        (LIMIT, "padding: max_length", *BINS),
        ("cutoff_len: 2048", *BINS),
    ],
)
def test_rows_below_the_limit_or_filled_up_to_it_are_not_accused(lines):
    assert first(*lines) is None


LABELS = ["longest row: 5120", "label tokens: 40_100", "tokens of all answers: total 310,400"]


def test_labels_that_are_few_beside_the_answers_were_cut_away():
    one = first(LIMIT, *LABELS)
    assert one.key == "labels_masked" and "40,100" in one.says and "310,400" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [LABELS[0], LABELS[1].replace("40_100", "301_000"), LABELS[2]],
        [LABELS[0].replace("5120", "700"), *LABELS[1:]],  # no row is as long as the limit
    ],
)
def test_labels_of_most_answers_or_short_rows_are_not_accused(lines):
    assert first(LIMIT, *lines) is None


FORKS = ["tokens        p50    p90", "replies      2900   5100", "first differs 1500  3300"]


def pairs(accuracy: float, margin: float = 0.004, loss: float = 0.691) -> list[str]:
    row = {"rewards/accuracies": accuracy, "rewards/margins": margin, "loss": loss}
    return [json.dumps(row | {"step": n, "grad_norm": 0.4}) for n in range(2, 8)]


def alike(*lines: str) -> bool:
    found = explain("\n".join([*lines, ""])).causes
    return bool(found) and found[0].key == "pairs_alike" and "common beginning" in found[0].says


def test_pairs_that_first_differ_behind_the_limit_are_alike():
    assert alike(LIMIT, "max_prompt_length: 256", *FORKS, *pairs(0.05))


@pytest.mark.parametrize(
    "lines",
    [
        (LIMIT, *FORKS, *pairs(0.62)),
        (LIMIT, *FORKS, *pairs(0.1, margin=-0.4, loss=0.9)),  # turned round
        (LIMIT.replace("768", "4096"), *FORKS, *pairs(0.05)),
    ],
)
def test_pairs_that_are_told_apart_or_differ_before_the_limit_are_not_alike(lines):
    assert not alike(*lines)


RUNS_ON = "finish_reason: length 0.7"


def test_rows_few_of_which_hold_their_end_are_cut():
    lines = ["trace tokens", "  p25 640  p50 1900", "last token is <|im_end|>   1,204 of 8,000"]
    one = first(LIMIT, *lines, RUNS_ON)
    assert one.key == "end_missing" and "1,204 of 8,000" in " ".join(one.for_it)
    assert first(LIMIT, lines[2].replace("1,204", "7,904"), RUNS_ON) is None
