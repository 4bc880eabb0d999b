"""Equal rewards divide by 0, then answers of other rows, then an engine that is never updated."""

from course_utils.oncall.cases import (
    answers_of_the_next_row,
    engine_keeps_its_weights,
    spread_of_nothing,
)
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="equal_rewards_wrong_rows_old_engine",
    level=3,
    template="rl_loop",
    ticket="Three people have worked on it since Easter, one after the other, and each says "
    "that it was all right when he passed it on. From the first line on, its log is of "
    "no use to anybody. I have been told to expect more than one surprise, and to begin"
    " with the first.",
    faults=(
        *spread_of_nothing.CASE.faults,
        *answers_of_the_next_row.CASE.faults,
        *engine_keeps_its_weights.CASE.faults,
    ),
    non_fixes={
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
        "hotter": (Edit("config.yaml", "temperature: 1.0", "temperature: 1.3"),),
    },
)
