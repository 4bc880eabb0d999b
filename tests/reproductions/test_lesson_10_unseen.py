"""The three unseen scripts of lesson 10 gain nothing from training, and fixed ones do."""

from functools import cache

import pytest

from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.reproductions.lesson_10 import unseen_10
from course_utils.reproductions.lesson_10.reward_up import held_out_truth

TICKETS = {
    "silence": unseen_10.silence_is_golden(),
    "room": unseen_10.no_room(),
    "average": unseen_10.last_years_average(),
}
SEED = 11


@cache
def trained(name: str):
    return TICKETS[name].fresh(SEED).train()


@pytest.mark.parametrize("name", TICKETS)
def test_as_reported_nothing_gets_better(name):
    script = trained(name)
    first, last = script.run.audit.audits[0], script.run.audit.audits[-1]
    assert last.truth < first.truth + 0.1 and last.truth < 0.7
    assert script.log.columns[1] == "reward"


def test_what_the_instruments_show_tells_the_three_apart():
    logs = {name: trained(name).run.log for name in TICKETS}
    assert logs["silence"]["length"][-1] < logs["silence"]["length"][0]
    assert min(logs["room"]["cut"]) > 0.3 and max(logs["silence"]["cut"]) == 0
    assert max(logs["average"]["grad_norm"]) < 0.05 < max(logs["silence"]["grad_norm"])


def test_with_healthy_parts_it_learns():
    truth = held_out_truth(
        unseen_10.HEALTHY["reward"], is_right=is_the_sum, seed=SEED, num_steps=12
    )
    assert truth[12] >= 0.7


def test_the_source_of_a_ticket_can_be_run_and_names_every_part():
    for ticket in TICKETS.values():
        names: dict = {}
        exec(compile(ticket.source(), "ticket", "exec"), names)
        assert set(ticket.parts) <= set(names)
