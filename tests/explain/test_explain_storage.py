"""Weights kept in bfloat16: beside runs that keep them in float32, and the rate tuned for it."""

import pytest

from tests.helpers.explained import answer, keys

KEPT = "  torch_dtype: bfloat16"
STATES = ["ours     rank0_optim.pt   2.1 GB", "theirs   rank0_optim.pt   6.4 GB"]
RATES = [1e-5, 9e-6, 7e-6, 5e-6, 3e-6, 1e-6, 1e-7]
THEIRS = [1.20, 1.01, 0.83, 0.66, 0.52, 0.41, 0.36]
OURS = [1.21, 1.03, 0.90, 0.78, 0.72, 0.69, 0.68]


def table(ours: list[float], rates: list[float] = RATES) -> list[str]:
    rows = zip(rates, THEIRS, ours, strict=True)
    shown = [f"{n:3}   {lr:.1e}   {a:.3f}   {b:.3f}" for n, (lr, a, b) in enumerate(rows)]
    return ["iter   lr   theirs   ours", *shown]


def test_a_loss_that_stays_above_the_others_as_the_rate_falls_is_of_rounded_weights():
    one = answer(KEPT, *table(OURS), *STATES).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "rounding_swallows" and "line 1" in told and not one.against
    assert "0.68 and 0.36 at line 9" in told and "2.1G" in told and "float32" in one.fix


def test_without_the_size_of_the_state_it_only_follows():
    one = answer(KEPT, *table(OURS)).causes[0]
    assert one.key == "rounding_swallows" and one.against and one.weight < 6


@pytest.mark.parametrize(
    "lines",
    [
        table(OURS),  # no format is named
        [KEPT, "  optimizer_dtype: float32", *table(OURS)],
        [KEPT, *table([1.02 * one for one in THEIRS])],
        [KEPT, *table([1.6 * one for one in THEIRS])],  # apart from the first row on
        [KEPT, *table(OURS, [1e-5] * 7)],  # the rate does not fall
        ["the model is in torch_dtype: bfloat16 and this is not odd to me", *table(OURS)],
    ],
)
def test_other_tables_are_not_of_rounding(lines):
    assert "rounding_swallows" not in keys(*lines)


def run(stored: str, moves: float, gains: float) -> list[str]:
    rows = [f"{n},{0.5 + gains * n:.3f},0.2,{moves / n**0.5:.4f}" for n in range(1, 10)]
    return [f"weights stored in {stored}", "step,reward,grad_norm,update_norm", *rows]


OLD, NEW = run("bf16", 0.2, 0.02), run("fp32", 0.9, -0.02)


@pytest.mark.parametrize("log", [[*OLD, *NEW], [*NEW, *OLD]])
def test_a_rate_tuned_for_rounded_weights_is_too_high_for_float32(log):
    one = answer("learning_rate: 2e-5", *log).causes[0]
    assert one.key == "rate_too_high" and "4.5 times" in one.says
    assert "4e-06" in one.fix and "float32" in one.fix


@pytest.mark.parametrize(
    "log",
    [
        [*OLD, *run("fp32", 0.9, 0.025)],  # it ends higher
        [*OLD, *run("fp32", 0.21, -0.02)],  # its steps are no longer
        [*OLD, *run("bf16", 0.9, -0.02)],
        [*OLD, "now with learning_rate: 9e-5", *NEW],
    ],
)
def test_other_pairs_of_runs_are_not_of_their_storage(log):
    one = answer("learning_rate: 2e-5", *log)
    assert not any("bfloat16" in cause.says for cause in one.causes)
