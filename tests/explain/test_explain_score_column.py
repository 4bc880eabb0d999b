"""Scores that are put at the last column of a batch, and at the last token of each reply."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first

CODE = [
    "token_rewards = -beta * (logp - ref_logp) * mask",
    "token_rewards[:, -1] += reward_scores",
    "for t in reversed(range(T)):",
    "    delta = token_rewards[:, t] + gamma * next_value - values[:, t]",
    "    lastgae = (delta + gamma * lam * lastgae) * mask[:, t]",
    "responses are right-padded to the longest one, advantages as in PPO",
]


def test_a_score_at_the_last_column_is_lost_to_replies_that_end_before():
    one = first(*CODE)
    assert one.key == "score_behind_the_end" and "its score is lost" in one.says
    assert "mask.sum(1) - 1" in one.fix and "token_rewards[:, -1]" in one.for_it[0]


def test_it_is_no_score_that_is_read_at_padding():
    assert all(one.key != "rows_pooled_wrong" for one in explain("\n".join([*CODE, ""])).causes)
    run = [f"{{'loss': 0.{9 - n}, 'grad_norm': 1.0, 'epoch': 0.{n}}}" for n in range(1, 9)]
    read = first("scores = reward_head(hidden)[:, -1]", CODE[-1], *run)
    assert read.key == "rows_pooled_wrong"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("token_rewards[:, -1] +=", "token_rewards[torch.arange(B), ends] +="),
        ("token_rewards[:, -1] += reward_scores", "token_rewards += dense_rewards"),
        ("right-padded", "left-padded"),
        ("token_rewards[:, -1] += reward_scores", "dones[:, -1] = 1"),
    ],
)
def test_the_last_token_of_each_reply_is_right(old, new):
    assert first(*"\n".join(CODE).replace(old, new).split("\n")) is None
