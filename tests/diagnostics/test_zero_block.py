"""A sampler whose quantised weights hold nan: diagnose names it, with and without the sampler."""

import copy

import pytest
import torch

from course_utils import incidents, zoo
from course_utils.diagnostics import DiagnoseCallback, diagnose
from course_utils.diagnostics.diagnosis.measures.sampler_weights import broken_weights
from course_utils.diagnostics.diagnosis.sheet.subject import of_parts
from course_utils.incidents.broken.zero_block_in_fp8 import _through_fp8

FIRST = "model.layers.3.mlp.gate_proj.weight"


def made(variant: str):
    return incidents.load_incident("zero_block_in_fp8").make(variant, 0)


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_its_tensor_and_its_twin_is_not(variant):
    run = made(variant)
    with diagnose.watching(run.trainer, sampler=run.parts["sampler"]) as ride:
        run.start()
    found = ride.report.causes
    assert [one.key for one in found] == ["sampler_not_finite"] * (variant == "broken")
    for one in found:
        assert one.place == f"sampler: {FIRST}" and "1e-12" in one.fix
        assert "24576 of them are exactly 0" in " ".join(one.said)


def test_without_the_sampler_its_log_probs_are_enough():
    run = made("broken")
    callback = DiagnoseCallback(run.trainer)
    run.trainer.add_callback(callback)
    run.start()
    one = callback.report.causes[0]
    assert (one.key, one.place) == ("sampler_not_finite", "the sampler's log-probs")
    assert "in 4 of 4 batches" in one.said[0]


def test_nan_where_the_trainer_has_numbers_is_no_block_of_zeros():
    model = zoo.load_policy("tiny", device="cpu")
    sampler = copy.deepcopy(model)
    assert broken_weights(of_parts(model, sampler=sampler)) is None
    with torch.no_grad():
        sampler.model.norm.weight[:3] = torch.nan
    found = broken_weights(of_parts(model, sampler=sampler))
    assert (found.count, found.zeros, found.is_of_zeros) == (3, 0, False)
    with torch.no_grad():
        model.model.norm.weight[:3] = torch.nan
    assert broken_weights(of_parts(model, sampler=sampler)) is None  # not the sampler's fault


def test_a_guarded_block_of_zeros_stays_zeros_and_the_others_keep_three_bits():
    weight = torch.randn(100, 130, generator=torch.Generator().manual_seed(0))
    weight[:64, :64] = 0
    small = _through_fp8(weight, least=1e-12)
    assert small.shape == weight.shape and small[:64, :64].abs().max() == 0
    assert ((small - weight).abs() <= weight.abs() / 16 + 0.01).all()
    assert _through_fp8(weight, least=0.0)[:64, :64].isnan().all()
