"""docs/failures.md: current, complete, and true of what it names."""

from pathlib import Path

from benchmarks.incidents import failures
from course_utils import incidents, reproductions
from course_utils.oncall import cases


def test_the_page_is_current():
    wanted = failures.page()
    assert failures.PAGE.read_text(encoding="utf-8") == wanted, "run: make failures"


def test_every_incident_and_every_ticket_stands_in_one_row_at_least():
    rows = failures.failures()
    names = [row.name for row in rows]
    assert len(set(names)) == len(names) and set(incidents.names()) <= set(names)
    tickets = {ticket for row in rows for ticket in row.ticket.split(", ")} - {""}
    assert {name for name in cases.names() if cases.load(name).level < 3} <= tickets


def test_a_ticket_that_is_an_incident_has_no_row_of_its_own():
    row = next(row for row in failures.failures() if row.name == "warmup_longer_than_the_run")
    assert "warm_up_of_the_big_run" in row.ticket and "three_in_the_queue" in row.ticket
    assert not any(row.name == "warm_up_of_the_big_run" for row in failures.failures())


def test_each_unseen_script_exists():
    folder = Path(reproductions.__file__).parent
    source = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    names = {row.name for row in failures.failures()}
    assert set(failures.UNSEEN) <= names
    for functions in failures.UNSEEN.values():
        assert all(f"def {function}(" in source for function in functions), functions


def test_a_rule_counts_only_where_it_comes_first():
    rules = failures._named("what_logs_tell.md", "says first")
    assert rules["marker_not_found"] == "labels_masked"
    assert "stops_at_another_id" not in rules  # no log tells
