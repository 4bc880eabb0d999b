"""No alarm and no changed number on 33 architectures; `make prove` takes all three formats."""

import copy
from itertools import product
from operator import itemgetter

import pytest
import torch
from faults import architectures
from whole import cases

from course_utils.diagnostics import audit_gradients, profile_ranges, trace_step

INSTRUMENTS = {
    "audit_gradients": (audit_gradients, lambda flow: flow.is_healthy),
    "profile_ranges": (profile_ranges, lambda profile: profile.survives("bfloat16")),
    "trace_step": (trace_step, lambda report: report.is_clear),
}


def numbers_of(model, loss_of, batch):
    """All that a run goes on with: weights, buffers, random numbers, and the next loss's bits."""
    rng = torch.get_rng_state()
    loss = loss_of(batch).detach().clone()
    torch.set_rng_state(rng)
    state = {"rng": rng, "loss": loss, **model.state_dict(), **dict(model.named_buffers())}
    return {name: value.clone() for name, value in state.items()}


def is_same(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())


BUILT = product(architectures.BUILDERS, architectures.FORMATS)


@pytest.mark.parametrize(("name", "fmt"), cases(BUILT, itemgetter(0)))
def test_a_healthy_step_raises_no_alarm_and_changes_no_number(name, fmt):
    model, batch, loss_of = architectures.build(name, fmt)
    given = copy.deepcopy(batch)
    before = numbers_of(model, loss_of, batch)
    for instrument, (run, is_well) in INSTRUMENTS.items():
        report = run(model, batch, loss_of=loss_of)
        assert is_well(report), f"{instrument}: {report}"
        assert is_same(before, numbers_of(model, loss_of, batch)), instrument
    assert all(parameter.grad is None for parameter in model.parameters())
    assert is_same(given, batch) and model.training


def test_there_are_thirty_architectures():
    assert len(architectures.BUILDERS) >= 30
