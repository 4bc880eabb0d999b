"""The benchmarks still run: their parts on the smallest case, without judging times."""

import pytest
import torch

from benchmarks.course import cost as course_cost
from benchmarks.diagnostics import nonfinite
from benchmarks.explain import page as explained_page
from benchmarks.explain.page import Judged
from course_utils import incidents
from course_utils.exercises import all_lessons
from tests.helpers.faults import losses


def test_the_checks_of_a_lesson_are_timed_against_their_limits():
    lesson = all_lessons()[0]
    table = course_cost.check_cost([lesson])
    assert [row[0] for row in table.rows] == [exercise.id for exercise in lesson.exercises]
    assert [len(row) for row in table.rows] == [len(table.columns)] * len(table.rows)


def test_watching_names_a_planted_fault_that_the_bare_step_does_not():
    fault = losses.FAULTS[0]

    def is_named_by(tool) -> bool:
        torch.manual_seed(0)
        return nonfinite.is_named(fault, nonfinite.listen(tool, fault.build())[0])

    assert is_named_by(nonfinite.our_watch)
    assert not is_named_by(nonfinite.bare)


@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "with a scaler"])
def test_each_round_gives_every_tool_one_step(scaled, monkeypatch):
    small = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1}
    monkeypatch.setattr(nonfinite, "SIZES", ((torch.float32, small | heads),) * 2)
    plants = {
        name: nonfinite.half_step()
        if scaled
        else nonfinite.make_step(torch.float32, **small, **heads)
        for name in nonfinite.TOOLS
    }
    rounds = list(nonfinite.in_turn(plants, 2))
    assert all(took.keys() == nonfinite.TOOLS.keys() for took in rounds)
    assert all(seconds > 0 for took in rounds for seconds in took.values())


def test_the_page_of_explain_counts_what_is_right_and_what_alarms():
    masked = incidents.load_incident("marker_not_found")
    rows = [
        Judged("marker_not_found", "broken", "other", masked, ("improves", "labels_masked"), ()),
        Judged("marker_not_found", "twin", "other", None, (), ("rate_zero",)),
    ]
    assert (rows[0].rank(rows[0].alone), rows[0].rank(rows[0].heard)) == (2, None)
    text = explained_page.page(rows)
    assert (
        "| other | the log alone | 0 of 1 (0%) | 1 of 1 (100%) | 1 of 1 (100%) | 0 of 1 |" in text
    )
    assert "| other | log and console | 0 of 1 (0%) | 0 of 1 (0%) |" in text
    assert "| twin of marker_not_found | other | nothing | rate_zero |" in text
    assert all(f"| {name} |" in text for name in explained_page.pasted_logs.FRESH)
