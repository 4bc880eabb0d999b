"""Logs that rules were written from: what is said of each, and that no healthy one is accused.

Four authors made them as kinds and not as a blind round, three (a to c) after threads and one of
their own. Before the rules, 8, 5, 4 and 3 of 18 were right or honest by our own reading; one broken
log was called healthy, and of d's five were accused of something false. Of 20 of e, common causes
in unusual form, it was 3; of 18 of f, runs of reinforcement learning, 4, and 7 were given a cause
that is not theirs, both healthy ones among them. Of 28 of g, six common kinds in other forms, 7
were named before, and one of its four healthy ones was accused of a standstill.
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
