"""The three unseen scripts of lesson 09 disagree as their tickets say, and fixed ones do not.

`make test` takes one of them, `make prove` all.
"""

import pytest
from whole import cases

from course_utils.reproductions.lesson_09 import unseen_09

DUE = {
    "never": (unseen_09.never_loaded(), (), ("stale",)),
    "divided": (unseen_09.divided_late(), ("temperature", "scaled"), ("temperature", "scaled")),
    "stripped": (unseen_09.stripped(), ("context",), ("context",)),
}


@pytest.mark.parametrize("name", cases(DUE))
def test_the_instrument_shows_what_differs_before_training_and_after(name):
    ticket, at_first, later = DUE[name]
    script = ticket.fresh(1)
    assert script.compare().causes == at_first
    assert script.train(2).compare().causes == later


def test_with_healthy_parts_both_sides_agree_and_nothing_shows_in_the_log_of_a_sick_run():
    sick = DUE["stripped"][0].fresh(2)
    mended = DUE["stripped"][0].fresh(2, **unseen_09.HEALTHY).train(2)
    assert mended.compare().causes == () and max(mended.loop.gaps) < 1e-4
    sick.train(2)
    assert min(sick.loop.gaps) > 0.1
    assert {row[2] for row in sick.log.rows} == {"0.00"}


def test_the_source_of_a_ticket_can_be_run_and_names_every_part():
    for ticket, *_ in DUE.values():
        names: dict = {}
        exec(compile(ticket.source(), "ticket", "exec"), names)
        defined = {name for name in names if not name.startswith("__")}
        assert all(any(n.startswith(part) for n in defined) for part in ticket.parts)
