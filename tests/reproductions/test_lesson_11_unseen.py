"""The four unseen servers of lesson 11 serve another model, and the trained one once fixed."""

from itertools import product
from operator import itemgetter

import pytest
from whole import cases

from course_utils.exercises.lesson_11.unseen import AGREE, UNSEEN
from course_utils.reproductions.lesson_11 import unseen_11
from course_utils.reproductions.lesson_11.adapter_life import logits_apart, right
from course_utils.reproductions.lesson_11.unseen_11 import HEALTHY, TASK

TICKETS = {exercise.answer["place"]: exercise.case() for exercise in UNSEEN.variants}
each = pytest.mark.parametrize("name", TICKETS)


@pytest.mark.parametrize(("name", "seed"), cases(product(TICKETS, range(5)), itemgetter(0)))
def test_as_reported_it_serves_another_model_and_with_healthy_parts_the_trained_one(name, seed):
    run = TICKETS[name].fresh(seed)
    assert right(run.live, TASK) >= 0.9 and right(run.served, TASK) < right(run.live, TASK)
    assert logits_apart(run.live, run.served) > 1
    fixed = TICKETS[name].fresh(seed, **HEALTHY)
    assert logits_apart(fixed.live, fixed.served) < AGREE


@each
def test_only_the_part_at_its_place_is_at_fault(name):
    parts = TICKETS[name].parts
    assert {place for place in parts if parts[place] is not HEALTHY[place]} == {name}


@each
def test_the_source_of_a_ticket_can_be_run_and_names_every_part(name):
    names: dict = {}
    exec(compile(TICKETS[name].source(), "ticket", "exec"), names)
    assert set(TICKETS[name].parts) <= set(names)


def test_a_run_does_not_change_what_the_next_one_is_given():
    first = unseen_11.loaded_in_place().fresh(0).completions(2)
    assert unseen_11.loaded_in_place().fresh(0).completions(2) == first
