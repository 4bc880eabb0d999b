"""The points are places in an order, where 1 is the best step."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def ranked(rows, rng):
    """Places of the steps of a solution, the best first."""
    return [row | {"scores": _places(row["scores"])} for row in rows]


def _places(scores):
    return {
        person: [score and 1 + sum((other or 0) > score for other in given) for score in given]
        for person, given in scores.items()
    }


CASE = Case(
    id="ranks_for_points",
    level=2,
    template="step_marks",
    ticket="Two numbers and a plus, and it hates what it sees; if it spares one line of a page, it "
    "is seldom the good one. The people behind it say that comparing is so much easier than "
    "judging, and that they are faster now. Larger sums go well, which puzzles me most.",
    faults=(
        Fault(
            title="ranks taken for scores",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", ranked),),
            cause="People put the steps of a solution into an order and 1 is the best, so good "
            "steps stay below the three that are asked for and are marked wrong.",
            fix="Have these steps scored one by one, or leave the solutions out: an order does not "
            "say what is wrong.",
            threads=("ImageReward#2", "UltraFeedback#8"),
            also_kinds=("preference", "metric", "bad_numbers"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
