"""Scores that are read in front of the first token of the padding's id."""

import pytest

from tests.helpers.explained import first

CODE = "tok.pad_token_id = tok.eos_token_id"
FLAT = [f"{{'loss': 0.6931, 'grad_norm': 0.00{n}, 'epoch': 0.{n}}}" for n in range(1, 8)]
ASKED = [">>> last_token_index   # of one batch", "[41, 41, 41, 41, 41]", "[41, 41, 41, 41, 41]"]


def test_all_rows_are_read_at_one_place_where_pad_is_eos():
    one = first(CODE, *FLAT, *ASKED)
    assert one.key == "rows_pooled_wrong" and "token 41" in one.says and "no text has" in one.fix


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[41, 41, 41, 41, 41]", "[187, 41, 96, 230, 77]"),
        ("tok.eos_token_id", "tok.convert_tokens_to_ids('<pad>')"),
        ("last_token_index", "row_lengths"),
    ],
)
def test_places_that_differ_or_a_pad_token_of_its_own_are_no_fault(old, new):
    one = first("\n".join([CODE, *FLAT, *ASKED]).replace(old, new))
    assert one is None or "first token that is the padding's" not in one.says
