"""A KL that is computed as the reference minus the policy, and so is paid for."""

import pytest

from tests.helpers.explained import first

KLS = (-0.01, -0.4, -1.2, -2.5, -4.1, -6.6, -9.0, -12.5)


def run(*kls: float, beta: float = 0.1, total: bool = False) -> list[str]:
    rows = []
    for n, kl in enumerate(kls):
        reward = 0.3 + 0.02 * n
        paid = f" objective={reward - beta * kl:.3f}" if total else ""
        rows.append(f"iter {n} reward={reward:.2f} kl={kl:.2f}{paid} entropy={1.2 - 0.1 * n:.2f}")
    return rows


TRIED = ("kl_coef 0.1 -> 0.4: it falls apart even sooner", "kl_coef 0: texts are good again")


@pytest.mark.parametrize(
    "lines",
    [
        ["    kl = (ref_logp - logp).sum(-1)", *run(*KLS)],
        ["kl_penalty = reference_logprobs - policy_logprobs", *run(*KLS)],
        ["kl_coef: 0.1", *run(*KLS, total=True)],
        [*run(*KLS), *TRIED],
        [*run(*KLS), "A larger beta makes it worse.", "Without the KL the replies are fine."],
    ],
)
def test_a_kl_that_falls_without_bound_and_is_paid_for_has_the_wrong_sign(lines):
    one = first(*lines)
    assert one.key == "kl_subtracted" and "minus policy" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ["kl = logp - ref_logp", *run(*KLS)],
        ["log_ratio = ref_logp - logp", *run(*KLS)],
        ["kl = (ref_logp - logp).exp() - (ref_logp - logp) - 1", *run(*KLS)],
        ["kl_coef: 0.1, top_k 20", *run(*KLS)],
        [*run(*KLS), "beta 0.4 -> 0.1: it falls apart even sooner", TRIED[1]],
    ],
)
def test_a_negative_kl_alone_is_that_of_other_replies(lines):
    assert first(*lines).key == "kl_negative"


def test_a_kl_around_0_is_none_of_it():
    kls = (0.01, -0.02, 0.03, -0.01, 0.02, -0.03, 0.01, 0.02)
    assert first("kl = ref_logp - logp", *run(*kls), *TRIED) is None
