"""The three unseen runs of lesson 06 fail to learn as reported, learn when fixed, and show why."""

import pytest
import torch

from course_utils.diagnostics import audit_gradients
from course_utils.exercises.lesson_06 import unseen
from course_utils.reproductions.lesson_06 import unseen_06

TICKETS = {
    "read_replies": unseen_06.critic_learns_alone(),
    "quantise": unseen_06.encoder_stands_still(),
    "prepare": unseen_06.adapter_stands_still(),
}
SEED = 5  # none of the exercise's own


def audit(run):
    return audit_gradients(run.model, run.batch, loss_of=run.loss)


@pytest.mark.parametrize("place", TICKETS)
def test_the_mended_run_gets_further_than_the_reported_one(place):
    ticket = TICKETS[place]
    sick = ticket.fresh(SEED).train().log
    mended = ticket.fresh(SEED, **{place: unseen.HEALTHY[place]}).train().log
    gained = [abs(log[-1][ticket.goal] - log[0][ticket.goal]) for log in (sick, mended)]
    assert gained[1] > gained[0] + 0.1
    assert sick[0][ticket.goal] == pytest.approx(mended[0][ticket.goal], rel=1e-4)


def test_the_audit_names_the_part_that_runs_without_a_graph():
    found = audit(TICKETS["read_replies"].fresh(SEED))
    assert found.loss_has_graph and not found.is_healthy
    assert "no_grad" in found.headline


def test_the_encoder_of_the_codec_gets_a_gradient_of_exactly_zero():
    run = TICKETS["quantise"].fresh(SEED)
    run.loss(run.batch).backward()
    assert not any(weight.grad.any() for weight in run.model["encoder"].parameters())
    assert all(weight.grad.any() for weight in run.model["decoder"].parameters())


def test_the_adapter_gets_its_gradient_and_no_optimizer_moves_it():
    run = TICKETS["prepare"].fresh(SEED)
    assert audit(run).is_healthy
    held = {id(weight) for group in run.optimizer.param_groups for weight in group["params"]}
    trained = [weight for weight in run.model.parameters() if weight.requires_grad]
    assert trained and not held & set(map(id, trained))
    before = [weight.detach().clone() for weight in trained]
    run.train(2)
    assert all(torch.equal(*pair) for pair in zip(before, trained, strict=True))
