"""Lesson 04's run collapses by its own dynamics, and recovers with one change, on five seeds.

`make test` takes one of them, `make prove` all.
"""

import math
from functools import cache

import pytest
from whole import IS_WHOLE, cases

from course_utils.exercises.lesson_04.fix import bounded_kl
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.reproductions.lesson_04.verl_outcomes import MIN_GAIN, Outcome
from course_utils.shown.report import Table

SEEDS, NUM_STEPS = range(5), 13
each_seed = pytest.mark.parametrize("seed", cases(SEEDS))


@cache
def trained(seed: int, **changes) -> VerlGrpo:
    run = VerlGrpo(seed=seed, device="cpu", **changes)
    run.train(NUM_STEPS)
    return run


def mended(seed: int) -> VerlGrpo:
    return trained(seed, kl_penalty=bounded_kl)


def first_bad(run) -> dict | None:
    return next((u for u in run.updates if not math.isfinite(u["actor/grad_norm"])), None)


@each_seed
def test_the_loss_is_finite_when_the_gradient_turns_nan(seed):
    assert trained(seed).is_dead
    assert math.isfinite(first_bad(trained(seed))["loss"])


@each_seed
def test_the_dead_policy_writes_only_the_token_0(seed):
    assert set(trained(seed).steps[-1]["reply"]) == {"!"}


@each_seed
def test_padding_passes_the_limit_and_tokens_do_not(seed):
    bad = first_bad(trained(seed))
    assert bad["largest at padding"] > 11.0 or math.isnan(bad["largest at padding"])
    assert bad["largest at tokens"] < 11.0


@each_seed
def test_with_a_bound_before_exp_the_run_learns(seed):
    outcome = Outcome.of(mended(seed))
    assert outcome.words == ("finite", "all taken", "alive", "rises")
    assert outcome.gain > MIN_GAIN


def test_the_masked_mean_that_ignores_padding_does_not_save_the_gradient():
    from course_utils.exercises.lesson_04.mean import mean_by_where

    assert trained(0, masked_mean=mean_by_where).is_dead


def test_the_table_of_collapse_and_recovery(capsys):
    """Runs last: prints what the tests above trained."""
    if not IS_WHOLE:
        pytest.skip("printed when all seeds are trained")
    rows = []
    for seed in SEEDS:
        broken, outcome = trained(seed), Outcome.of(mended(seed))
        bad = first_bad(broken)
        loss = f"{bad['loss']:.3f}" if bad else "-"
        gain = f"{outcome.first_score:.2f} to {outcome.last_score:.2f}"
        step = str(bad["step"]) if bad else "-"
        rows.append((str(seed), step, loss, broken.steps[-1]["reply"], gain))
    columns = ("seed", "nan at rollout", "loss there", "last reply", "held-out sums, mended")
    with capsys.disabled():
        print("\n" + Table(columns=columns, rows=rows, title="Collapse and recovery").text())
    assert len({row[1] for row in rows}) >= len(SEEDS) - 2
