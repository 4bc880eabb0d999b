"""Routers that choose other experts in the engine: diagnose names them, and no equal routes."""

import pytest
import torch

from course_utils import incidents, zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.judges.policy import judge_numbers
from course_utils.diagnostics.diagnosis.measures.policy_numbers import policy_numbers
from course_utils.diagnostics.diagnosis.measures.routes import flips, routers_of
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.incidents.routes import policy

IDS = torch.arange(40).reshape(2, 20) + 20


# Broken, and with the engine at hand: test_diagnose_corpus.py.
@pytest.mark.parametrize(
    ("variant", "with_sampler"), [("broken", False), ("twin", False), ("twin", True)]
)
def test_the_incident_is_named_and_its_twin_is_not(variant, with_sampler):
    run = incidents.load_incident("routes_differ_in_bf16").make(variant, 0)
    parts = {"sampler": run.parts["sampler"]} if with_sampler else {}
    with diagnose.watching(run.trainer, **parts) as ride:
        run.start()
    found = [(one.key, one.place) for one in ride.report.causes]
    assert found == [("routing_flips", "the routers (gate)")] * (variant == "broken")


def test_routes_are_compared_token_by_token():
    model, batch = policy(), {"input_ids": IDS}
    assert len(routers_of(model)) == 4 and not routers_of(zoo.load_policy("tiny", device="cpu"))
    assert not flips(model, policy(), batch).any()
    other = policy()
    with torch.no_grad():
        other.model.layers[3].mlp.gate.weight.neg_()
    assert flips(model, other, batch).all()


def numbers(*, flipped: float, routed: float, share: int):
    logps = torch.zeros(4, 10)
    away = torch.zeros(4, 10, dtype=torch.bool)
    away[:, :share] = True
    sampler = torch.where(away, flipped, routed)
    return policy_numbers(mask=torch.ones(4, 10), logps=logps, sampler_logps=sampler, flips=away)


@pytest.mark.parametrize(
    ("gaps", "due"),
    [
        ({"flipped": 0.5, "routed": 0.001, "share": 1}, True),
        ({"flipped": 0.1, "routed": 0.1, "share": 1}, False),  # another cause moves all tokens
        ({"flipped": 0.01, "routed": 0.0001, "share": 1}, False),  # too little to matter
        ({"flipped": 0.5, "routed": 0.001, "share": 0}, False),
    ],
)
def test_only_tokens_that_were_routed_differently_and_differ_accuse_the_routers(gaps, due):
    sheet = Sheet()
    judge_numbers([numbers(**gaps)] * 3, sheet)
    assert ("routing_flips" in [one.key for one in sheet.found]) is due
