"""Lesson 04's unseen runs break by themselves, say where, and survive with the healthy twin."""

import math
from itertools import product

import pytest
from whole import cases

from course_utils import diagnostics
from course_utils.exercises.lesson_04.unseen import CAUSES, UNSEEN
from course_utils.exercises.lesson_04.unseen_looks import (
    CHECK_SEEDS,
    HEALTHY,
    MIN_REWARD,
    NUM_UPDATES,
)

TICKETS = [variant.case() for variant in UNSEEN.variants]
each_ticket = pytest.mark.parametrize("ticket", TICKETS, ids=lambda ticket: f"run {ticket.seed}")
each_seed = pytest.mark.parametrize(
    ("ticket", "seed"),
    cases(product(TICKETS, CHECK_SEEDS), lambda case: case[0].seed),
    ids=lambda value: getattr(value, "seed", value),
)


def first_bad(run) -> dict | None:
    run.train(NUM_UPDATES)
    return next((u for u in run.updates if not math.isfinite(u["grad_norm"])), None)


def sick_place(ticket) -> str:
    return next(place for place, term in ticket.terms.items() if term is not HEALTHY[place])


@each_seed
def test_as_reported_the_gradient_is_nan_while_the_loss_is_finite(ticket, seed):
    run = ticket.fresh(seed=seed)
    bad = first_bad(run)
    assert bad is not None and bad["step"] < NUM_UPDATES
    assert math.isfinite(bad["loss"])
    assert run.is_dead


@each_seed
def test_with_the_healthy_twin_the_same_run_learns(ticket, seed):
    place = sick_place(ticket)
    run = ticket.fresh(seed=seed, **{place: HEALTHY[place]})
    assert first_bad(run) is None
    assert run.updates[-1]["reward"] > MIN_REWARD


@each_ticket
def test_the_trace_of_the_first_bad_update_names_a_line_of_the_sick_term(ticket):
    number = first_bad(ticket.fresh())["step"]
    run = ticket.fresh().train(number - 1)
    report = diagnostics.trace_step(run.policy, run.rollout(), loss_of=run.loss)
    sick = ticket.terms[sick_place(ticket)]
    first = sick.__code__.co_firstlineno
    line = int(report.line.split(":")[1])
    assert first < line <= max(number for *_, number in sick.__code__.co_lines() if number)
    assert report.reached.startswith("the gradient")


@each_ticket
def test_the_log_shows_the_bad_norm_before_the_reward_falls(ticket):
    rows = ticket.table().rows
    first_nan = next(i for i, row in enumerate(rows) if row[-1] == "nan")
    rewards = [float(row[1]) for row in rows]
    assert rewards[first_nan] > 2 * rewards[first_nan + 1]
    assert "nan" not in rows[first_nan][:-1]


def test_every_variant_has_another_place_and_another_cause():
    places = [sick_place(ticket) for ticket in TICKETS]
    causes = [variant.answer["cause"] for variant in UNSEEN.variants]
    assert len(set(places)) == len(set(causes)) == len(TICKETS) == 3
    assert len(CAUSES) >= 5
