"""A pad outside the table, then a prompt without the assistant's turn, then too high a rate."""

from course_utils.oncall.cases import asked_without_a_turn, pad_outside_the_table
from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="new_pad_no_turn_high_rate",
    level=3,
    template="rl_loop",
    ticket="I inherited this folder with a sticky note: nearly done, only the last bit "
    "is missing. It would not even begin on my desk. Whatever the last bit is, "
    "please write down all that you had to touch, since the note's author has "
    "left for a sabbatical.",
    faults=(
        *pad_outside_the_table.CASE.faults,
        *asked_without_a_turn.CASE.faults,
        Fault(
            like="rate_of_sft",
            plant=(Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 1.0e-2"),),
            fix="Use a hundredth of the learning rate.",
            also_kinds=("collapse",),
        ),
    ),
    non_fixes={
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
    },
)
