"""A reference with the policy's weights, then swapped pairs, then the reference exported."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "reference_shares_the_weights",
    "replies_change_places",
    "reference_exported",
)

CASE = Case(
    id="three_in_the_comparison",
    level=3,
    template="dpo_digits",
    ticket="Stage two of the pipeline has never worked on this site. It starts, prints its "
    "banner, and stops; stage one is fine. The other site says it also had 'a handful "
    "of things' to sort out back then, and has lost its notes.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
