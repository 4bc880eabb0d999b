"""Lesson 04's run collapses by its own dynamics, and recovers with one change, on five seeds.

By default on three, half a minute; ALL_ANSWERS=1 takes all five.
"""

import math
import os

import pytest

from course_utils.exercises.lesson_04.fix import bounded_kl
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.reproductions.lesson_04.verl_outcomes import MIN_GAIN, Outcome
from course_utils.shown.report import Table

SEEDS, NUM_STEPS = range(5 if os.environ.get("ALL_ANSWERS") else 3), 13


@pytest.fixture(scope="module")
def runs():
    """(broken, fixed) for each seed, trained once."""
    pairs = {}
    for seed in SEEDS:
        broken = VerlGrpo(seed=seed, device="cpu")
        mended = VerlGrpo(seed=seed, device="cpu", kl_penalty=bounded_kl)
        for run in (broken, mended):
            run.train(NUM_STEPS)
        pairs[seed] = broken, mended
    return pairs


def first_bad(run) -> dict | None:
    return next((u for u in run.updates if not math.isfinite(u["actor/grad_norm"])), None)


def test_the_table_of_collapse_and_recovery(runs, capsys):
    rows = []
    for seed, (broken, mended) in runs.items():
        bad, outcome = first_bad(broken), Outcome.of(mended)
        loss = f"{bad['loss']:.3f}" if bad else "-"
        gain = f"{outcome.first_score:.2f} to {outcome.last_score:.2f}"
        step = str(bad["step"]) if bad else "-"
        rows.append((str(seed), step, loss, broken.steps[-1]["reply"], gain))
    columns = ("seed", "nan at rollout", "loss there", "last reply", "held-out sums, mended")
    with capsys.disabled():
        print("\n" + Table(columns=columns, rows=rows, title="Collapse and recovery").text())
    assert sum(broken.is_dead for broken, _ in runs.values()) >= len(SEEDS) - 1
    assert len({row[1] for row in rows}) >= len(SEEDS) - 2


def test_the_loss_is_finite_when_the_gradient_turns_nan(runs):
    bad = [first_bad(broken) for broken, _ in runs.values() if broken.is_dead]
    assert sum(math.isfinite(update["loss"]) for update in bad) >= len(SEEDS) - 1


def test_the_dead_policy_writes_only_the_token_0(runs):
    for broken, _ in runs.values():
        if broken.is_dead:
            assert set(broken.steps[-1]["reply"]) == {"!"}


def test_padding_passes_the_limit_and_tokens_do_not(runs):
    for broken, _ in runs.values():
        bad = first_bad(broken)
        if bad:
            assert bad["largest at padding"] > 11.0 or math.isnan(bad["largest at padding"])
            assert bad["largest at tokens"] < 11.0


def test_with_a_bound_before_exp_every_seed_learns(runs):
    for _, mended in runs.values():
        assert Outcome.of(mended).words == ("finite", "all taken", "alive", "rises")
        assert Outcome.of(mended).gain > MIN_GAIN


def test_the_masked_mean_that_ignores_padding_does_not_save_the_gradient():
    from course_utils.exercises.lesson_04.mean import mean_by_where

    run = VerlGrpo(device="cpu", masked_mean=mean_by_where)
    run.train(NUM_STEPS)
    assert run.is_dead
