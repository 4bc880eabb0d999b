"""Pairs that are printed with the score of both replies."""

import pytest

from tests.helpers.explained import keys

RUN = [f"step {n} loss {0.69 - 0.05 * n:.3f} acc 0.{55 + 4 * n}" for n in range(8)]


@pytest.mark.parametrize(
    "rows",
    [
        ['{"chosen_score": 2, "rejected_score": 9}', '{"chosen_score": 4, "rejected_score": 7}'],
        ["score_chosen=3.5 score_rejected=8.0", "score_chosen=1.0 score_rejected=6.5"],
        ["pair 0: chosen (rank 4) rejected (rank 1)", "pair 1: chosen (rank 3) rejected (rank 2)"],
        [
            "sorted by rating",
            "chosen [1] 'No.' rejected [4] 'Yes'",
            "chosen [2] 'a' rejected [5] 'b'",
        ],
        [
            "chosen: votes=-3, 'x' | rejected: votes=40, 'y'",
            "chosen: votes=0, | rejected: votes=7,",
        ],
    ],
)
def test_pairs_whose_chosen_reply_has_the_worse_score_are_turned_round(rows):
    assert keys(*rows, *RUN)[0] == "pairs_inverted"


@pytest.mark.parametrize(
    "rows",
    [
        ['{"chosen_score": 9, "rejected_score": 2}', '{"chosen_score": 7, "rejected_score": 4}'],
        ['{"chosen_score": 2, "rejected_score": 9}', '{"chosen_score": 7, "rejected_score": 4}'],
        ["chosen [1] 'No.' rejected [4] 'Yes'", "chosen [2] 'a' rejected [5] 'b'"],
        ["chosen_reward=-1.2 rejected_reward=0.4", "chosen_reward=-2.2 rejected_reward=0.1"],
        ["chosen_length: 20 rejected_length: 90", "chosen_length: 10 rejected_length: 50"],
    ],
)
def test_better_scores_mixed_ones_and_numbers_of_no_sense_are_not_accused(rows):
    assert "pairs_inverted" not in keys(*rows, *RUN)
