"""The file of results of the bench has the form that its schema describes, and no other."""

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator, ValidationError, validate

from course_utils.oncall.bench.result import NAME, SCHEMA, write
from course_utils.oncall.bench.score import Rate, Score, rates, table
from course_utils.oncall.bench.stored import Protocol

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
    assert written["sums"] == {"tickets": 2, "seconds": 1.0, "looks": None}
    counts = {name: (rate["num"], rate["of"]) for name, rate in written["rates"].items()}
    halves = {"places": (1, 2), "fixed": (1, 2), "solved": (1, 2)}
    assert counts == halves | {"classes": (2, 2), "false_fixes": (0, 0)}
    assert (written["rates"]["solved"]["low"], written["rates"]["solved"]["high"]) == (
        0.0945,
        0.9055,
    )
    assert (tmp_path / NAME).exists()
    assert written["protocol"]["command"] == ["sh", "-c", "true"]


def test_with_a_budget_it_counts_looks_by_ticket_and_in_all(tmp_path):
    scores = [score(1, looks=3), score(2, looks=4)]
    told = json.loads(write(tmp_path, replace(PROTOCOL, budget=6), scores).read_text())
    validate(told, SCHEMA)
    assert [one["looks"] for one in told["tickets"]] == [3, 4] and told["sums"]["looks"] == 7
    assert told["protocol"]["budget"] == 6
    assert table(scores).columns[-1] == "median looks" and table(scores).rows[-1][-1] == "4"
    assert table([score(1)]).columns[-1] == "median s"


# Of Newcombe (1998), "Two-sided confidence intervals for the single proportion", method 3.
@pytest.mark.parametrize(
    ("num", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (29, 29, 0.8830, 1),
    ],
)
def test_an_interval_is_wilsons(num, of, low, high):
    assert Rate(num, of).interval == pytest.approx((low, high), abs=6e-5)


LEFT = score(3, fixed=True, places=0, classes=0, faults=0)  # a healthy run, called so
CHANGED = replace(LEFT, name="1.4", fixed=False, solved=False)


def test_healthy_runs_count_among_the_solved_and_alone_have_false_fixes():
    found = rates([score(1), LEFT, CHANGED, replace(LEFT, solved=False)])
    counts = {name: (rate.num, rate.of) for name, rate in found.items()}
    assert counts["places"] == counts["classes"] == counts["fixed"] == (1, 1)
    assert counts["solved"] == (2, 4) and counts["false_fixes"] == (1, 3)


def test_the_table_has_a_row_for_healthy_runs_and_an_interval_in_each_cell():
    told = {row[0]: row[2:7] for row in table([score(1), LEFT, CHANGED]).rows}
    assert told["1"] == ("1/1 21-100%",) * 4 + ("-",)
    assert told["healthy"] == ("-", "-", "-", "1/2 9-91%", "1/2 9-91%")
    assert told["all"][3:] == ("2/3 21-94%", "1/2 9-91%")
    assert "healthy" not in {row[0] for row in table([score(1)]).rows}
    assert max(map(len, table([score(1), LEFT] * 40).text().splitlines())) <= 100


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("protocol", {"seed": 5}),  # the secret seed itself
        ("sums", {"tickets": -1}),
        ("rates", {"solved": {"num": 1, "of": 2}}),  # without its interval
        ("tickets", [{"name": "1.1"}]),
        ("protocol", {"walls": "no"}),
        ("schema", 99),
    ],
)
def test_another_form_is_refused(part, change, written):
    whole = written[part] | change if isinstance(change, dict) else change
    with pytest.raises(ValidationError):
        validate(written | {part: whole}, SCHEMA)
