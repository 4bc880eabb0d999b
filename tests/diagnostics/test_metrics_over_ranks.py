"""A metric that is a mean of the ranks' means is named; one over all rows, and equal ranks, not."""

import pytest
from torch import nn

from course_utils import incidents
from course_utils.diagnostics.diagnosis.front import subject_of
from course_utils.diagnostics.diagnosis.looks.metrics import look_at_metrics
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet


def looked_at(model, log: list[dict]) -> Sheet:
    sheet = Sheet()
    look_at_metrics(subject_of(model, log=log), sheet)
    return sheet


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_its_metric_and_its_twin_is_not(variant):
    run = incidents.load_incident("metric_averaged_over_ranks").make(variant, 0)
    run.start()
    sheet = looked_at(run.model, run.log)
    assert [one.key for one in sheet.found] == ["metric_by_rank"] * (variant == "broken")
    assert all(one.place == "eval_accuracy" and "of 56" in one.said[0] for one in sheet.found)
    assert ("metrics over ranks" in sheet.cleared) == (variant == "twin")


@pytest.mark.parametrize("counts", [(8, 8), ()], ids=["equal ranks", "no counts"])
def test_ranks_of_one_size_or_without_counts_are_no_fault(counts):
    row = {"step": 4, "loss": 1.5, "loss/rank_0": 1.0, "loss/rank_1": 2.0}
    row |= {f"rows/rank_{rank}": count for rank, count in enumerate(counts)}
    assert not looked_at(nn.Linear(2, 1), [row]).found
