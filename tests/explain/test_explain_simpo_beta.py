"""SimPO with DPO's beta: what shows it, and runs of SimPO, CPO and ORPO that are well."""

import pytest

from tests.helpers.explained import first

TRL = ["args = CPOConfig(", '    loss_type="simpo", cpo_alpha=0.0, simpo_gamma=0.5,', ")"]
FACTORY = ["stage: dpo", "pref_loss: simpo", "simpo_gamma: 1.2", "learning_rate: 1.0e-6"]


def rows(beta: float = 0.1, start: float = 0.967, fall: float = 0.001, mean: float = -1.0):
    """Entries whose rewards are beta times the log-probs."""
    found = []
    for n in range(8):
        chosen, rejected = mean + 0.01 * n, 1.15 * mean - 0.01 * n
        found.append(
            f"{{'loss': {start - fall * n:.4f}, 'rewards/chosen': {beta * chosen:.5f}, "
            f"'rewards/rejected': {beta * rejected:.5f}, "
            f"'rewards/margins': {beta * (chosen - rejected):.5f}, "
            f"'rewards/accuracies': {0.66 + 0.01 * n:.3f}, 'logps/chosen': {chosen:.4f}, "
            f"'logps/rejected': {rejected:.4f}, 'epoch': {0.1 * n + 0.1:.1f}}}"
        )
    return found


def bare(start: float = 0.96, fall: float = 0.001):
    return [
        f"step {20 * n} loss {start - fall * n:.4f} acc {0.62 + 0.01 * n:.3f} margin 0.02{n}"
        for n in range(1, 9)
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [*TRL, *rows()],
        [*FACTORY, "pref_beta: 0.1", *rows(start=1.45)],
        [*FACTORY, *bare(start=1.455)],
        ["SimPO does not move for us", *rows(beta=0.05)],
        ["loss = simpo_loss(pi_c, pi_r, beta=0.1, gamma=0.5)", *bare()],
        [*TRL, "print(args.beta)   # 0.1", *bare()],
    ],
)
def test_a_beta_of_dpo_under_a_mean_is_named(lines):
    one = first(*lines)
    assert one.key == "beta_unusual" and "SimPO" in one.says and "2.0" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*TRL, *rows(beta=2.0, start=0.93, fall=0.04)],
        [*TRL, "beta=0.1", *rows(fall=0.05)],  # it learns
        ["loss_type=sigmoid, beta=0.1", "(SimPO would be next)", *rows()],
        ["CPOConfig(loss_type='simpo', beta=0.1)", *rows(beta=0.1, mean=-300.0)],  # sums
        ["ORPO, as we had no luck with SimPO", *rows(start=1.2)],
        [*TRL, *bare(start=0.70)],  # a default that the loss does not show
    ],
)
def test_a_run_that_learns_or_has_another_loss_is_not_accused(lines):
    one = first(*lines)
    assert one is None or one.key != "beta_unusual"
