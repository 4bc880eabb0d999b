"""The wins are shares in percent, which nearly always reach five."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_percent(rows, rng):
    """Wins as shares of the eight rollouts, in percent."""
    return [row | {"wins": [round(12.5 * wins) for wins in row["wins"]]} for row in rows]


CASE = Case(
    id="wins_in_percent",
    level=1,
    template="step_marks",
    ticket="You could write 12+7+30=900 and it would nod. It nods at nearly every longer addition, "
    "and elsewhere it is less strict than it used to be. The new export was checked by two of us, "
    "there is no gap in it and no duplicate.",
    faults=(
        Fault(
            title="success counts in percent",
            kind="labels",
            plant=(EditRows("data/rollouts.jsonl", in_percent),),
            cause="The wins are given in percent, and one win of eight is already 12, so nearly "
            "every step reaches the five that are asked for and is marked right.",
            fix="Turn the percentages into wins of eight, or ask for 60 percent.",
            threads=("VideoAlign#12", "O1-CODER#3"),
            also_kinds=("metric", "bad_numbers"),
            also_places=("marks.py of_rollouts", "config.yaml least_wins"),
        ),
    ),
    non_fixes={
        "more wins asked for": (Edit("config.yaml", "least_wins: 5 ", "least_wins: 6 "),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
