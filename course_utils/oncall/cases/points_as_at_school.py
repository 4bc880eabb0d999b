"""People give 1 to what is good and 5 to what is bad."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def as_at_school(rows, rng):
    """Points as in a class, where 1 is the best."""
    return [row | {"scores": _turned(row["scores"])} for row in rows]


def _turned(scores):
    return {person: [score and 6 - score for score in given] for person, given in scores.items()}


CASE = Case(
    id="points_as_at_school",
    level=2,
    template="step_marks",
    ticket="Plain additions of two numbers: it waves nonsense through and stops what is right. "
    "With three numbers and with money I have nothing to complain of. We pay more for those plain "
    "pages than for all the others together, so I had expected the opposite.",
    faults=(
        Fault(
            title="reversed scores",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", as_at_school),),
            cause="People give 1 for the best and 5 for the worst, so the marks of that source are "
            "the wrong way round.",
            fix="Turn the points round, or the comparison.",
            threads=("UltraFeedback#8", "crowdastro#185"),
            also_kinds=("preference", "bad_numbers", "metric"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
