"""Labels all masked, then a rate times the batch size, then an average that is far too long."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "marker_with_one_break_too_many",
    "rate_times_the_rows",
    "average_longer_than_the_run",
)

CASE = Case(
    id="three_under_the_hood",
    level=3,
    template="own_loop",
    ticket="We adopted this from a student who has since graduated. His thesis has splendid "
    "curves in it; the plot that I get from his folder is empty. Everything that looked "
    "clever to me I have left in, since I do not know what it is for.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
