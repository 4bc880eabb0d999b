"""The points run to a hundred, and three are enough."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_hundreds(rows, rng):
    """Points of a form that asks for 20, 40, 60, 80 or 100."""
    return [row | {"scores": _times_twenty(row["scores"])} for row in rows]


def _times_twenty(scores):
    return {person: [score and 20 * score for score in given] for person, given in scores.items()}


CASE = Case(
    id="points_out_of_a_hundred",
    level=1,
    template="step_marks",
    ticket="Two small numbers, any result: approved. I typed 2+2=871 in front of the customer. The "
    "form that our people fill in has become much prettier this month, and they complete more "
    "pages than ever.",
    faults=(
        Fault(
            title="scores on another scale than the threshold",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", in_hundreds),),
            cause="The new form gives 20 to 100 in place of 1 to 5, so every score reaches the "
            "three that are asked for and all steps of that source are marked right.",
            fix="Divide the scores by twenty, or ask for sixty.",
            threads=("VideoAlign#12", "distilabel#160"),
            also_kinds=("metric", "bad_numbers"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "only four points and more": (Edit("config.yaml", "least_score: 3 ", "least_score: 4 "),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
