"""The wins are those of four rollouts, and five are asked for."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def of_four(rows, rng):
    """Wins over four rollouts in place of eight."""
    return [row | {"wins": [wins // 2 for wins in row["wins"]]} for row in rows]


CASE = Case(
    id="wins_of_four_rollouts",
    level=1,
    template="step_marks",
    ticket="Three numbers on a line, and it says no, whatever stands there. Whoever makes that "
    "material for us was proud of being done in half the time. Everything else works as nicely as "
    "it ever did.",
    faults=(
        Fault(
            title="success counts over fewer rollouts than the threshold assumes",
            kind="labels",
            plant=(EditRows("data/rollouts.jsonl", of_four),),
            cause="Each step was tried four times and not eight, so no step reaches the five wins "
            "that are asked for and all are marked wrong.",
            fix="Ask for a share of the rollouts, such as three of four, or double the wins.",
            threads=("O1-CODER#3", "OpenRLHF#502"),
            also_kinds=("no_signal", "metric", "bad_numbers"),
            also_places=("marks.py of_rollouts", "config.yaml least_wins"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
