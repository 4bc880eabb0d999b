"""A KL term without a gradient: named in a loop's own loss; a term that pulls is not."""

import pytest
import torch

from course_utils import incidents, zoo
from course_utils.diagnostics.diagnosis.front import subject_of
from course_utils.diagnostics.diagnosis.looks.reference_pull import look_at_reference_pull
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.incidents.broken.kl_under_no_grad import INCIDENT

IDS = torch.arange(24).reshape(2, 12) + 20


def looked_at(model, **parts) -> Sheet:
    sheet = Sheet()
    look_at_reference_pull(subject_of(model, **parts), sheet)
    return sheet


def logps(model):
    logits = model(input_ids=IDS).logits[:, :-1].log_softmax(-1)
    return logits.gather(-1, IDS[:, 1:, None])[..., 0]


def live(term) -> Sheet:
    """The look at a loop whose loss asks its reference anew."""
    model, reference = (zoo.load_policy("tiny", device="cpu").eval() for _ in range(2))

    def loss(model, _batch):
        with torch.no_grad():
            other = logps(reference)
        return term(logps(model), other)

    return looked_at(model, batch={"input_ids": IDS}, loss=loss, reference=reference)


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_and_its_twin_is_not(variant):
    run = incidents.load_incident(INCIDENT.name).make(variant, 0)
    parts = {name: run.parts[name] for name in ("batch", "loss", "optimizer", "reference")}
    before = [weight.detach().clone() for weight in run.model.parameters()]
    sheet = looked_at(run.model, **parts)
    assert [one.key for one in sheet.found] == ["kl_without_effect"] * (variant == "broken")
    assert all("ref_log_prob" in one.place and "no_grad" in one.why for one in sheet.found)
    assert ("pull of the reference" in sheet.cleared) == (variant == "twin")
    assert all(map(torch.equal, before, run.model.parameters()))


def test_log_probs_that_are_detached_are_named_with_a_live_reference():
    sheet = live(lambda own, other: -own.mean() + (own.detach() - other).square().mean())
    assert [one.key for one in sheet.found] == ["kl_without_effect"]


def test_a_term_that_pulls_and_a_reward_that_holds_the_kl_are_no_fault():
    pulls = live(lambda own, other: -own.mean() + (own - other).square().mean())
    in_reward = live(lambda own, other: (own * (1 + (own.detach() - other))).mean())
    unread = live(lambda own, other: -own.mean() + 0 * other.mean())
    assert not pulls.found and not in_reward.found and not unread.found
    assert "pull of the reference" in pulls.cleared and not unread.cleared
