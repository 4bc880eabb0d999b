"""One person gives 1 to what is good and 5 to what is bad."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def _turned(row):
    """Otto's points as at school, where 1 is the best."""
    given = [score and 6 - score for score in row["scores"].get("otto", ())]
    return row | {"scores": row["scores"] | ({"otto": given} if given else {})}


def marked_as_at_school(rows, rng):
    return [_turned(row) for row in rows]


CASE = Case(
    id="one_scale_upside_down",
    level=2,
    template="step_marks",
    ticket="Plain additions of two numbers: it waves nonsense through and stops what is right, "
    "about as often as a coin would. With three numbers and with money I have nothing to complain "
    "of. We pay more for those plain pages than for all the others together, so I had expected the "
    "opposite.",
    faults=(
        Fault(
            title="one rater's scale reversed",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", marked_as_at_school),),
            cause="One of three people, who does most of the work, gives 1 for the best and 5 for "
            "the worst, so most marks of that source are the wrong way round.",
            fix="Turn that person's points round, or leave them out.",
            threads=("UltraFeedback#8", "crowdastro#185"),
            also_kinds=("preference", "bad_numbers", "metric"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "only four points and more": (Edit("config.yaml", "least_score: 3 ", "least_score: 4 "),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
