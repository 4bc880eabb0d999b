"""Points as at school, then wins by a check that reads two digits, then a tool that never ran."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case, Edit

ALONE = ("points_as_at_school", "answers_of_two_digits", "tool_that_never_looked")

CASE = Case(
    id="three_at_the_correction_desk",
    level=3,
    template="step_marks",
    ticket="We have it from three houses, and in each of them it is wrong in a way of its own. "
    "Here it is a contrarian, there somebody who is afraid of large amounts, and the third one "
    "loves everybody. Two of us have each set something right and then gone home; please go on "
    "until all three of them are content.",
    faults=tuple(load(name).faults[0] for name in ALONE),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
    },
)
