"""The prices of the training rows are added up in cents."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_cents(rows, rng):
    """Solutions as billing writes them: the prices in dollars, their sums in cents."""
    return [row | {"solution": _in_cents(row["solution"])} for row in rows]


def _in_cents(solution):
    return "\n".join(f"{step}00" for step in solution.split("\n"))


CASE = Case(
    id="prices_in_cents",
    level=1,
    template="step_marks",
    ticket="Show it $12+30=42 and it shakes its head, or it does not, there is no telling. With "
    "what billing sent over it does well, and we have never had so many of their pages. The "
    "currency sign is in the vocabulary, that was my first thought.",
    faults=(
        Fault(
            title="answers in another unit than those that are judged",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", in_cents),),
            cause="The sums of prices are written in cents in the training rows, and in dollars "
            "where the model is used, so it has seen no such answer.",
            fix="Write the sums in dollars: cut the two zeros off.",
            threads=("zero-to-mastery-ml#42", "energidataservice#72"),
            also_kinds=("template", "metric", "bad_numbers"),
            also_places=("marks.py of_finder", "data.py encode"),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
