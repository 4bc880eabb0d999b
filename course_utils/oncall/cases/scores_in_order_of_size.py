"""The points of a solution are sorted, the highest first."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def sorted_down(rows, rng):
    """Points as a report lists them: the highest first."""
    return [row | {"scores": _sorted(row["scores"])} for row in rows]


def _sorted(scores):
    return {
        person: sorted(given, key=lambda score: score or 0, reverse=True)
        for person, given in scores.items()
    }


CASE = Case(
    id="scores_in_order_of_size",
    level=2,
    template="step_marks",
    ticket="Beginnings are good and endings are bad, that is how it sees a simple page. Write the "
    "same line twice and the second copy gets the blame! Somebody suggested that the context is "
    "too long for such a small thing, but we are talking about three lines.",
    faults=(
        Fault(
            title="scores sorted within a solution",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", sorted_down),),
            cause="The points of each solution are sorted from high to low, so they do not belong "
            "to the steps that they stand beside.",
            fix="Put the points back into the order of the steps, or leave those solutions out.",
            threads=("OUTRIDER#32", "AutoXAI4Omics#58"),
            also_kinds=("length_bias", "bad_numbers"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "only four points and more": (Edit("config.yaml", "least_score: 3 ", "least_score: 4 "),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
