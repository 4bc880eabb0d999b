"""A return that a tool's reply cuts is named; turns that are paid, and plain replies, are not."""

import pytest
import torch

from course_utils import incidents
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.front import subject_of
from course_utils.diagnostics.diagnosis.looks.returns import look_at_returns
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet

MASK = torch.tensor([[1, 1, 0, 0, 1, 1, 0]]).expand(6, -1)
ENDS = torch.arange(6.0)[:, None]


def looked_at(**batch) -> Sheet:
    sheet = Sheet()
    look_at_returns(subject_of(torch.nn.Linear(2, 1), batch=batch), sheet)
    return sheet


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_before_its_run_and_its_twin_is_not(variant):
    run = incidents.load_incident("observation_cuts_the_return").make(variant, 0)
    parts = {name: run.parts[name] for name in ("batch", "loss", "optimizer")}
    causes = diagnose(run.model, **parts).causes
    assert [one.key for one in causes] == ["return_cut"] * (variant == "broken")
    assert all(one.place == "returns" and "64 rows" in one.said[0] for one in causes)


def test_advantages_alone_are_a_sign_and_those_of_whole_rows_are_fine():
    behind = ENDS * (MASK.cumsum(1) > 2) * MASK
    assert [one.key for one in looked_at(advantages=behind, response_mask=MASK).found] == [
        "return_cut"
    ]
    sheet = looked_at(advantages=ENDS * MASK, response_mask=MASK)
    assert not sheet.found and "credit before a tool's reply" in sheet.cleared


def test_turns_that_are_paid_and_rows_without_a_tool_are_no_fault():
    rewards = torch.zeros(6, 7)
    rewards[:, 1] = 1.0
    behind = ENDS * (MASK.cumsum(1) > 2) * MASK
    paid = looked_at(returns=behind, response_mask=MASK, token_level_rewards=rewards)
    plain = looked_at(returns=behind, response_mask=torch.ones(6, 7))
    assert not paid.found and not plain.found
