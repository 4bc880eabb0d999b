"""TruthAudit puts a second judge beside the reward, and leaves the run as it is."""

import math

import pytest
import torch

from course_utils.diagnostics import TruthAudit
from course_utils.errors import BadRequest
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.reproductions.lesson_07 import never_stops
from course_utils.reproductions.lesson_10 import reward_up
from course_utils.reproductions.lesson_10.verifiers import occurs

ROWS = reward_up.held_out(16)


def trained(check, *, audited: bool = True, num_steps: int = 2, weights=(1.0,), more=(), **options):
    rewards = [reward_up.reward_of(check), *more]
    settings = {"max_steps": num_steps, "reward_weights": list(weights)}
    trainer = reward_up.grpo_trainer(rewards, **settings)
    audit = TruthAudit(ROWS, is_the_sum, **{"every": 1} | options)
    if audited:
        audit.attach(trainer)
    trainer.train()
    return trainer, audit


def test_it_looks_before_the_first_step_and_every_so_often():
    _, audit = trained(occurs, every=2, num_steps=3)
    assert [look.step for look in audit.audits] == [0, 2, 3]
    assert all(len(look.replies) == len(ROWS) for look in audit.audits)


def test_a_run_that_is_audited_ends_in_the_same_weights():
    with_audit, _ = trained(occurs)
    without, _ = trained(occurs, audited=False)
    pairs = zip(with_audit.model.parameters(), without.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert with_audit.model.training == without.model.training


def test_truth_and_earnings_are_those_of_the_replies():
    _, audit = trained(occurs)
    look, answers = audit.audits[0], ROWS["answer"][:]
    pairs = list(zip(look.replies, answers, strict=True))
    right = [is_the_sum(*pair) for pair in pairs]
    wrong = [occurs(*pair) for pair, is_so in zip(pairs, right, strict=True) if not is_so]
    assert look.truth == sum(right) / len(right)
    assert look.pays_right == 1.0
    assert look.pays_wrong == pytest.approx(sum(wrong) / len(wrong))


def test_a_cheated_verifier_pays_wrong_replies_before_the_first_step_and_a_sound_one_does_not():
    _, cheated = trained(occurs)
    _, sound = trained(is_the_sum)
    assert cheated.audits[0].pays_wrong > 0.5
    assert sound.audits[0].pays_wrong == 0


def test_a_function_of_weight_0_is_no_part_of_the_reward_and_is_not_called_on_the_questions():
    book = reward_up.Book(is_the_sum)
    _, audit = trained(occurs, weights=(2.0, 0.0), more=(book,))
    assert audit.audits[0].pays_right == 2.0
    assert [len(batch) for batch in book.batches] == [32, 32]


def test_a_reward_of_none_is_no_number_and_does_not_stop_the_audit():
    _, audit = trained(lambda reply, gold: None)
    assert math.isnan(audit.audits[0].reward) and not math.isnan(audit.audits[0].truth)
    assert " -  " in str(audit)


def test_the_headline_says_fell_only_beyond_the_noise():
    _, audit = trained(occurs)
    assert audit.headline.startswith("The truth did not move")
    first = audit.audits[0]
    fallen = type(first)(9, 1.0, 0.0, math.nan, 1.0, first.replies)
    audit.audits.append(fallen)
    assert audit.headline.startswith(f"The truth fell: {first.truth:.2f} to 0.00 ")


def test_the_trainers_own_columns_stand_beside_it():
    trainer, audit = trained(occurs)
    logged = trainer.state.log_history[1]
    assert audit.audits[2].logged["entropy"] == logged["entropy"]
    assert audit.table.columns[-4:] == ("grad_norm", "entropy", "length", "cut")


def test_a_constant_reward_shows_a_gradient_that_is_almost_0_and_one_without_rounding_none():
    _, rounded = trained(lambda reply, gold: 0.35, num_steps=1)
    _, exact = trained(lambda reply, gold: 0.5, num_steps=1)
    column = rounded.table.columns.index("grad_norm")
    assert 0 < float(rounded.table.rows[-1][column]) < 0.01
    assert float(exact.table.rows[-1][column]) == 0


def test_rows_without_prompt_or_answer_and_trainers_without_a_reward_are_refused():
    with pytest.raises(BadRequest, match="columns"):
        TruthAudit([{"prompt": "1+1="}], is_the_sum)
    with pytest.raises(BadRequest, match="columns none"):
        TruthAudit([], is_the_sum)
    plain = never_stops.sft_trainer(
        never_stops.base_model(), reward_up.zoo.load_tokenizer("tiny"), dataset=never_stops.chats(8)
    )
    with pytest.raises(BadRequest, match="no reward functions"):
        TruthAudit(ROWS, is_the_sum).attach(plain)
