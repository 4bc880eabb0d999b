"""Pairs cut too early, then a rate for one row, then another template at the export."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "pairs_cut_before_they_differ",
    "rate_for_one_row",
    "exported_with_another_template",
)

CASE = Case(
    id="three_after_the_move",
    level=3,
    template="dpo_digits",
    ticket="Moving house from the old repository took an hour, with three merge conflicts that "
    "I settled as best I could. It has not produced anything since. My settlements are "
    "probably to blame, but it was late, and I could not tell you any more which they "
    "were.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
