"""Every step has the wins of the worst step of its solution."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def of_the_end(rows, rng):
    """The wins of whole solutions, beside each of their steps."""
    return [row | {"wins": [min(row["wins"])] * len(row["wins"])} for row in rows]


CASE = Case(
    id="marks_of_the_whole_solution",
    level=2,
    template="step_marks",
    ticket="With three numbers to a line it strikes out far too much, and most of that is "
    "perfectly fine. Nobody likes a grumpy teacher. Page by page it still agrees with us rather "
    "well, so the colleagues who only look at whole pages do not believe me.",
    faults=(
        Fault(
            title="outcome of a solution copied to every step",
            kind="returns",
            plant=(EditRows("data/rollouts.jsonl", of_the_end),),
            cause="The wins say how a whole solution ends and are copied to all of its steps, so "
            "right steps of a solution with one error are marked wrong.",
            fix="Mark the steps by wins of their own, or leave out solutions that end badly but "
            "for steps that are known.",
            threads=("AlphaLLM#1", "digirl#1"),
            also_kinds=("labels", "metric"),
            also_places=("marks.py of_rollouts", "config.yaml least_wins"),
        ),
    ),
    non_fixes={
        "more wins asked for": (Edit("config.yaml", "least_wins: 5 ", "least_wins: 6 "),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
