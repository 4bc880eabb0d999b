"""Minus infinity in the padding, then boxed answers, then an engine that is never updated."""

from course_utils.oncall.cases import (
    engine_keeps_its_weights,
    gold_in_a_box,
    nucleus_beside_the_end,
)
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="nucleus_then_box_then_old_engine",
    level=3,
    template="rl_loop",
    ticket="This was made safer, then fed with better questions, then sped up, in that order, "
    "over one week. Of the safer one we have no figures that one could put into a "
    "chart. I should like the plain one of the week before back, with an account of "
    "what each change did.",
    faults=(
        *nucleus_beside_the_end.CASE.faults,
        *gold_in_a_box.CASE.faults,
        *engine_keeps_its_weights.CASE.faults,
    ),
    non_fixes={
        "stronger KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.01"),),
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.8"),),
    },
)
