"""A loss that is the weighted KL, and two runs that print another norm of the same steps."""

import pytest

from course_utils.explain import explain

KLS = (1e-5, 4e-4, 0.002, 0.008, 0.02, 0.04, 0.055, 0.07)


def policy(beta: float = 0.1, kls=KLS, rises: float = 0.1) -> list[str]:
    return [
        f"{{'loss': {beta * kl:.4f}, 'grad_norm': 0.4, 'reward': {1 + rises * n:.2f}, "
        f"'reward_std': 0.5, 'kl': {kl}, 'step': {n}}}"
        for n, kl in enumerate(kls, start=1)
    ]


BETA = "GRPOConfig(beta=0.1, num_generations=8)"
JUDGED = "held-out: step 0 0.41  step 4 0.47  step 8 0.52"


def test_a_loss_that_is_beta_times_the_kl_is_no_fault():
    answer = explain("\n".join([BETA, *policy(), JUDGED, ""]))
    assert answer.is_healthy
    assert any("KL term alone (0.1 times" in one.says for one in answer.no_faults)


@pytest.mark.parametrize(
    "lines",
    [
        (BETA, *policy(beta=0.3), JUDGED),
        (BETA, *policy(rises=-0.1), JUDGED),
        (BETA, *policy(kls=[50 * kl for kl in KLS]), JUDGED),
        (BETA, *policy(), JUDGED.replace("0.52", "0.33")),
        (BETA, *policy()),
        (*policy(), JUDGED),
    ],
)
def test_another_loss_a_far_policy_or_no_proof_is_not_called_the_kl(lines):
    answer = explain("\n".join([*lines, ""]))
    assert not any("KL term alone" in one.says for one in answer.no_faults)


def run(norm: float, loss: float = 1.5) -> list[str]:
    return [
        f"Step {n} | loss:{loss - n / 40:.5f} lr:1e-05 grad_norm:{norm - n / 200:.4f}"
        for n in range(1, 9)
    ]


SAME = "eval loss: before 1.2345, after 1.2345"


def test_the_same_losses_and_evaluation_are_the_same_steps():
    answer = explain("\n".join(["--- before", *run(0.5), "--- after", *run(1.2), SAME, ""]))
    assert not answer.causes and answer.is_healthy
    assert any(one.key == "logged_otherwise" for one in answer.no_faults)


@pytest.mark.parametrize(
    "lines",
    [
        (*run(0.5), *run(1.2)),
        (*run(0.5), *run(1.2), SAME.replace("after 1.2345", "after 1.2401")),
        (*run(0.5), *run(1.2, loss=1.51), SAME),
        (*run(0.5), *run(0.5), SAME),
        (*run(1.2), SAME),
    ],
)
def test_other_losses_or_no_second_number_prove_no_same_steps(lines):
    answer = explain("\n".join([*lines, ""]))
    assert not any(one.key == "logged_otherwise" for one in answer.no_faults)
