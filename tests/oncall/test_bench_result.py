"""The file of results of the bench has the form that its schema describes, and no other."""

import json

import pytest
from jsonschema import Draft202012Validator, ValidationError, validate

from course_utils.oncall.bench import Protocol, Score
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
    assert written["sums"] == sums and (tmp_path / NAME).exists()
    assert written["protocol"]["command"] == ["sh", "-c", "true"]


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
