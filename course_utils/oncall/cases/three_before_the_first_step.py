"""Ids that are not unique, then another end token, then held-out answers of other rows."""

from course_utils.oncall.cases import (
    checks_joined_with_an_offset,
    desk_ends_in_another_token,
    ids_that_are_not_unique,
)
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="three_before_the_first_step",
    level=3,
    template="prep_rows",
    ticket="Everybody who delivers to us has moved house this spring, and everybody says that "
    "only the address is new. The assistant came out of it with half of what it knew. Whenever "
    "I put one thing right it goes wrong in another way, so please go on to the very end.",
    faults=(
        *ids_that_are_not_unique.CASE.faults,
        *desk_ends_in_another_token.CASE.faults,
        *checks_joined_with_an_offset.CASE.faults,
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 16"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
