"""The file of results of the bench has the form that its schema describes, and no other."""

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator, ValidationError, validate

from course_utils.oncall.bench import Protocol, Score, table
from course_utils.oncall.bench_result import NAME, SCHEMA, write

PROTOCOL = Protocol(("sh", "-c", "true"), (1, 2), 2, 20.0, False, "0123456789ab")


def score(number: int, **changes) -> Score:
    solved = {"fixed": True, "places": 1, "classes": 1, "solved": True}
    given = {"level": 1, "faults": 1, "seconds": 0.5, "ended": "code 0", "problem": ""}
    return Score(name=f"1.{number}", **solved | given | changes)


@pytest.fixture
def written(tmp_path):
    lost = score(2, fixed=False, places=0, solved=False, ended="time", problem="too long")
    return json.loads(write(tmp_path, PROTOCOL, [score(1), lost]).read_text())


def test_it_has_the_form_of_its_schema_and_the_right_sums(written, tmp_path):
    Draft202012Validator.check_schema(SCHEMA)
    validate(written, SCHEMA)
    sums = {"places": 1, "classes": 2, "faults": 2, "fixed": 1, "solved": 1, "tickets": 2}
    assert written["sums"] == sums | {"seconds": 1.0, "looks": None} and (tmp_path / NAME).exists()
    assert written["protocol"]["command"] == ["sh", "-c", "true"]


def test_with_a_budget_it_counts_looks_by_ticket_and_in_all(tmp_path):
    scores = [score(1, looks=3), score(2, looks=4)]
    told = json.loads(write(tmp_path, replace(PROTOCOL, budget=6), scores).read_text())
    validate(told, SCHEMA)
    assert [one["looks"] for one in told["tickets"]] == [3, 4] and told["sums"]["looks"] == 7
    assert told["protocol"]["budget"] == 6
    assert table(scores).columns[-1] == "median looks" and table(scores).rows[-1][-1] == "4"
    assert table([score(1)]).columns[-1] == "median s"


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("protocol", {"seed": 5}),  # the secret seed itself
        ("sums", {"solved": -1}),
        ("tickets", [{"name": "1.1"}]),
        ("protocol", {"walls": "no"}),
        ("schema", 99),
    ],
)
def test_another_form_is_refused(part, change, written):
    whole = written[part] | change if isinstance(change, dict) else change
    with pytest.raises(ValidationError):
        validate(written | {part: whole}, SCHEMA)
