"""A reference whose log-probs were kept from an earlier model."""

import pytest

from tests.helpers.explained import first


def run(reward: float) -> list[str]:
    return [
        f"{{'loss': {1.9 - n / 10:.2f}, 'grad_norm': 9.1, 'learning_rate': {n}e-08, "
        f"'rewards/chosen': {reward - n / 10:.3f}, 'rewards/rejected': {reward + 1 - n / 10:.3f}, "
        f"'logps/chosen': -150.0, 'epoch': {n / 50}}}"
        for n in range(1, 10)
    ]


KEPT = 'rows = load_from_disk("cache/pairs_ref_logps")'


def test_log_probs_that_are_read_back_are_named_with_the_reference_they_mean():
    one = first("beta: 0.2", KEPT, *run(6.0))
    assert one.key == "wrong_reference" and "read from what was kept" in one.says
    assert any("the reference had -179.5" in row for row in one.for_it) and "hash" in one.fix


@pytest.mark.parametrize(
    "lines", [(), ('rows = load_from_disk("data/pairs")',), (KEPT, "key = model_hash(model)")]
)
def test_a_reference_that_is_computed_or_kept_by_its_model_is_not_said_to_be_kept(lines):
    one = first("beta: 0.2", *lines, *run(6.0))
    assert one.key == "wrong_reference" and "read from what was kept" not in one.says


def test_log_probs_that_fit_are_no_fault():
    fits = [row.replace("'rewards/chosen': 5.9", "'rewards/chosen': 0.0") for row in run(6.0)]
    fits = [row.replace("'rewards/rejected': 6.9", "'rewards/rejected': 0.0") for row in fits]
    one = first("beta: 0.2", KEPT, *fits)
    assert one is None or one.key != "wrong_reference"
