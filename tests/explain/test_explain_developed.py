"""Logs that rules were written from: what is said of each, and that no healthy one is accused.

Eight authors (a to h) made them, as kinds and not as a blind round. Before rules were written for
them, so many were right or honest by our own reading: 8, 5, 4 and 3 of 18 of a to d, 3 of 20 of e
(common causes in unusual form), 4 of 18 of f (reinforcement learning); of g and h (twelve common
kinds in four forms each), 7 and 4 of 24 broken ones were named. One broken log was called healthy.
"""

import json
from pathlib import Path

import pytest

from course_utils.explain import explain

LOGS = Path(__file__).parents[1] / "helpers" / "developed"
KEY = json.loads((LOGS / "key.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", KEY)
def test_a_log_that_was_developed_from_is_still_named(name):
    answer = explain((LOGS / f"{name}.txt").read_text(encoding="utf-8"))
    first = answer.causes[0].key if answer.causes else ""
    assert first == KEY[name]["named"]


@pytest.mark.parametrize("name", [one for one in KEY if KEY[one]["verdict"] == "healthy"])
def test_a_healthy_log_that_was_developed_from_is_not_accused(name):
    assert not explain((LOGS / f"{name}.txt").read_text(encoding="utf-8")).causes
