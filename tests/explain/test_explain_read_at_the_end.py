"""Scores that are read at the last position of a batch that is padded on the right."""

import pytest

from tests.helpers.explained import answer

TRAINS = [f"step {n * 50} | loss {0.69 - n / 300:.4f} | acc {0.5 + n / 90:.3f}" for n in range(9)]
CODE = "        score = self.value_head(out.hidden_states[-1])[:, -1]"
RIGHT = "tokenizer.padding_side = 'right'"
BY_SIZE = [f"eval batch_size={n}: accuracy {hits}" for n, hits in ((2, 0.71), (8, 0.66), (32, 0.6))]
BY_NEIGHBOUR = ["the reply scored alone: 2.31", "the same reply batched with a long one: -0.40"]


def test_the_last_position_of_rows_that_are_padded_on_the_right_is_padding():
    one = answer(CODE, RIGHT, *TRAINS, *BY_SIZE).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "rows_pooled_wrong" and "mask.sum(1) - 1" in one.fix
    assert "line 1 " in told and "right" in told and "0.71 in batches of 2" in told


def test_a_score_that_changes_with_its_neighbours_is_read_at_a_position_of_the_batch():
    one = answer("I use right padding", *TRAINS, *BY_NEIGHBOUR).causes[0]
    assert one.key == "rows_pooled_wrong" and "2.31" in " ".join(one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (CODE, "tokenizer.padding_side = 'left'", *TRAINS),
        (CODE, *TRAINS),  # nothing says where the padding stands
        (RIGHT, *TRAINS),
        (RIGHT, "last = mask.sum(1) - 1", CODE, *TRAINS),
        (RIGHT, "next_id = model(ids).logits[:, -1].argmax(-1)", *TRAINS),
        (RIGHT, *TRAINS, *BY_SIZE[:1], "eval batch_size=8: accuracy 0.712"),
        (RIGHT, *TRAINS, "scored alone: 2.31", "batched with a long one: 2.29"),
    ],
)
def test_a_score_at_its_own_last_token_is_not_accused(lines):
    assert "rows_pooled_wrong" not in [one.key for one in answer(*lines).causes]
