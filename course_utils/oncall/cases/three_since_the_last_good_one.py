"""Gradients clipped to 0, then an optimizer of another model, then replies without an end."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "clipped_to_nothing",
    "optimizer_of_the_model_before",
    "reply_without_its_end",
)

CASE = Case(
    id="three_since_the_last_good_one",
    level=3,
    template="own_loop",
    ticket="Good on the second of the month, useless on the ninth, and in between eleven "
    "commits that all passed review. I bisected by hand: no single commit explains it, "
    "whichever I revert the outcome stays poor.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
