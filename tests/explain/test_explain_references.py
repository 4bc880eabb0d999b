"""DPO whose reference is the policy itself: rewards of 0 for ever beside log-probs that move."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

ITSELF = {
    "loss": 0.6931,
    "grad_norm": 6.0,
    "rewards/chosen": 0.0,
    "rewards/rejected": 0.0,
    "logps/rejected": lambda n: -90.0 - 9 * n + n % 2,
}


def answer(*before: str, **change):
    log = map(json.dumps, rows(12, **ITSELF | change))
    return explain("\n".join([*before, *log]) + "\n")


def test_rewards_of_0_beside_a_policy_that_moves_are_of_a_policy_that_is_its_own_reference():
    one = answer().causes[0]
    assert one.key == "reference_moves" and "same weights" in one.says
    assert any("logps/rejected" in told for told in one.for_it)
    assert "precompute" not in one.fix and "frozen copy" in one.fix


def test_log_probs_that_were_precomputed_and_not_taken_are_the_place():
    one = answer("precompute_ref_log_probs: true", "DPOTrainer(model, ref_model=None)").causes[0]
    assert "not used" in one.says and "precompute_ref_log_probs=False" in one.fix
    assert any("ref_model=None" in told for told in one.for_it)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"logps/rejected": lambda n: -90.0 - n * 7 % 5}, "policy_is_reference"),  # other rows
        ({"grad_norm": 0.0}, "no_gradient"),
    ],
)
def test_a_policy_that_does_not_move_is_not(change, key):
    assert answer(**change).causes[0].key == key


def test_rewards_that_leave_0_are_no_fault():
    found = answer(
        **{
            "loss": lambda n: 0.6931 - n / 50,
            "rewards/chosen": lambda n: n / 30,
            "rewards/rejected": lambda n: -n / 9,
        }
    )
    assert not found.causes
