"""The three unseen loops of lesson 08 depend on the split, do not when fixed, and show why."""

from itertools import product
from operator import itemgetter

import pytest
from whole import cases

from course_utils.diagnostics import compare_splits
from course_utils.diagnostics.splits.judging import FACTOR, OTHER, WEIGHTS, distance
from course_utils.reproductions.lesson_08 import unseen_08
from course_utils.reproductions.lesson_08.unseen_08 import HEALTHY

TICKETS = {
    "boxes": unseen_08.boxes_by_the_image(),
    "terms": unseen_08.two_denominators(),
    "width": unseen_08.the_width_counted(),
}
each = pytest.mark.parametrize("name", TICKETS)


def found(name, **changes):
    run = TICKETS[name].fresh(0, **changes)
    return compare_splits(run.step, run.rows[:8], model=run.model)


@each
def test_as_reported_it_depends_on_the_cut_and_with_healthy_parts_not(name):
    assert not found(name).is_healthy and found(name, **HEALTHY).is_healthy


@pytest.mark.parametrize(("name", "seed"), cases(product(TICKETS, range(5)), itemgetter(0)))
def test_as_reported_two_cuts_train_two_models_and_mended_one(name, seed):
    def weights(size, **changes):
        run = TICKETS[name].fresh(seed, **changes)
        run.train(size)
        return run.weights()

    assert distance(weights(1), weights(8)) > 0.01
    assert distance(weights(1, **HEALTHY), weights(8, **HEALTHY)) < 1e-4


def test_the_instrument_tells_the_three_apart():
    kinds = {name: found(name).compared[-1].kind for name in TICKETS}
    assert kinds["boxes"] in (WEIGHTS, OTHER) and kinds["terms"] == OTHER
    assert kinds["width"] in (FACTOR, OTHER)


def test_a_single_term_shows_which_one_it_is():
    def without_labels(sums, own, step, num_micro):
        return TICKETS["terms"].parts["divide"](sums | {"label": 0 * sums["label"]}, own, step, 8)

    report = found("terms", divide=without_labels)
    assert report.compared[-1].kind == WEIGHTS


@each
def test_the_source_of_a_ticket_can_be_run_and_names_every_part(name):
    names: dict = {}
    exec(compile(TICKETS[name].source(), "ticket", "exec"), names)
    assert set(TICKETS[name].parts) <= {part.split("_")[0] for part in names}
