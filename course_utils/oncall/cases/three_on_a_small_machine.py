"""A row without labels, then a squared learning rate, then end tokens masked as padding."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "row_with_nothing_to_learn",
    "rate_times_itself",
    "labels_by_id",
)

CASE = Case(
    id="three_on_a_small_machine",
    level=3,
    template="own_loop",
    ticket="To get it onto the office box we slimmed it down bit by bit over an afternoon, with "
    "a good deal of copying from one another. The box copes. The product is void, and "
    "putting back any one thing that I remember changes the flavour of the failure and "
    "nothing more.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
