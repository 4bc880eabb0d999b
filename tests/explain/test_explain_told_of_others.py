"""Numbers that are told in a sentence are of another run, and what follows from what."""

import pytest

from tests.helpers.explained import first, key

EARLIER = [f"{{'loss': {1.4 - n / 10}, 'grad_norm': 0.5, 'epoch': 0.0{n}}}" for n in range(1, 4)]
ENDS = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
CUT = "UserWarning: None of the inputs have requires_grad=True. Gradients will be None"


@pytest.mark.parametrize("lines", [[ENDS], [CUT, ENDS]])
def test_an_earlier_run_in_a_sentence_mends_no_error(lines):
    told = f"For reference the run before it was fine: {', '.join(EARLIER)}"
    assert key(*lines, told) == key(*lines)


def test_a_run_that_goes_on_behind_an_error_has_mended_it():
    assert key(ENDS, *EARLIER) != key(ENDS)


def test_numbers_behind_a_timestamp_are_the_run_itself():
    lines = [f"2026-05-04 10:0{n}:00 step on the way: {one}" for n, one in enumerate(EARLIER)]
    assert key(ENDS, *lines) != key(ENDS)


def test_what_made_the_numbers_nan_goes_before_the_sampler_that_meets_them():
    warned = "UserWarning: Could not find response key `### Answer:` in the following instance"
    rows = [f"{{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.{n}}}" for n in range(1, 5)]
    sampled = "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"
    assert first(warned, *rows, sampled).key == "labels_masked"
    assert first(sampled).key == "sampling_from_nan"
