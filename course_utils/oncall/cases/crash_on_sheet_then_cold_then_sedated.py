"""Answers as a spreadsheet writes them, then near-greedy sampling, then too long a warm-up."""

from course_utils.oncall.cases import (
    answers_from_a_sheet,
    sampled_too_cold,
    warm_up_of_the_large_run,
)
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="crash_on_sheet_then_cold_then_sedated",
    level=3,
    template="grpo_sums",
    ticket="The sums are out of a spreadsheet this time, otherwise I copied last "
    "quarter's folder and took three hints from a forum. It falls over, not "
    "always at the same place. The hints had many thumbs up.",
    faults=(
        *answers_from_a_sheet.CASE.faults,
        *sampled_too_cold.CASE.faults,
        *warm_up_of_the_large_run.CASE.faults,
    ),
    non_fixes={
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
        "tighter clip": (Edit("config.yaml", "epsilon: 0.2", "epsilon: 0.1"),),
    },
)
