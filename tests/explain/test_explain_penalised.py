"""Replies that are all scored with the penalty for a missing end."""

import json

import pytest

from tests.helpers.explained import answer

PENALTY = "    'non_eos_penalty': true, 'penalty_reward_value': -5.0, 'stop_token_id': 7,"
EOS = "generation_config.eos_token_id: 2"


def run(*scores: float, **more: float) -> list[str]:
    shown = {"objective/kl": 0.1, "loss/policy_avg": 0.002} | more
    return [json.dumps(shown | {"objective/scores": score}) for score in scores]


def test_a_score_that_is_the_penalty_throughout_is_that_of_a_missing_end():
    one = answer(PENALTY, EOS, *run(*[-5.0] * 8)).causes[0]
    assert one.key == "stops_elsewhere" and "cut at token 7" in one.says and "eos, 2" in one.says
    assert "-5" in one.for_it[0] and "eos_token" in one.fix


def test_the_id_of_the_end_is_found_by_its_name():
    named = ["tokenizer.eos_token = '</s>'", "{'</s>': 3, '<end>': 7}"]
    assert "eos, 3" in answer(PENALTY, *named, *run(*[-5.0] * 8)).causes[0].says


def test_without_both_ids_no_token_is_blamed():
    log = run(*[-1.0] * 8, **{"val/num_eos_tokens": 0})
    one = answer("missing_eos_penalty=1.0", *log).causes[0]
    assert one.key == "stops_elsewhere" and "cut at" not in one.says and "where" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        run(*[-5.0] * 8),
        [PENALTY, *run(*[-5.0] * 7, -4.9)],
        [PENALTY, *run(*[0.4] * 8)],
        ["missing_eos_penalty=1.0", *run(*[-1.0] * 8)],  # it is taken off, and sets no score
        ["penalty_reward_value=0", *run(*[0.0] * 8)],
        ["non_eos_penalty=False", *run(*[-1.0] * 8)],
        [PENALTY, *run(-5.0, -5.0)],
    ],
)
def test_another_score_is_not_of_the_penalty(lines):
    assert "stops_elsewhere" not in [one.key for one in answer(*lines).causes]
