"""Each step has the wins of the step before it."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def counted_before(rows, rng):
    """Wins of the rollouts that replace a step, and so begin behind the one before it."""
    return [row | {"wins": [rng.randint(6, 8), *row["wins"][:-1]]} for row in rows]


CASE = Case(
    id="wins_of_the_step_before",
    level=2,
    template="step_marks",
    ticket="When it frowns at a long addition, then a line too late: the one above was bad. Our "
    "readers have got used to it, the program that repairs the pages has not. Is something delayed "
    "in the way we call it?",
    faults=(
        Fault(
            title="marks that belong to the step before",
            kind="labels",
            plant=(EditRows("data/rollouts.jsonl", counted_before),),
            cause="The rollouts begin before the step and not behind it, so each step has the wins "
            "of the one before it, and the first one those of the bare question.",
            fix="Give each step the wins of the next one, and leave the last one unmarked.",
            threads=("ThinkPRM#4", "rlhf-book#389"),
            also_kinds=("returns", "pooling"),
            also_places=("marks.py of_rollouts", "config.yaml least_wins"),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
