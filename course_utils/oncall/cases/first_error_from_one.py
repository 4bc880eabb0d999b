"""The first error is counted from 1."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def counted_from_one(rows, rng):
    """Places as people count them; -1 is none, as before."""
    return [row | {"first_error": _as_people(row["first_error"])} for row in rows]


def _as_people(place):
    return place if place < 0 else place + 1


CASE = Case(
    id="first_error_from_one",
    level=1,
    template="step_marks",
    ticket="On pages with money it praises the blunder and scolds the line below, or nobody at "
    "all. We have had a new detector for these since March, which beats the old one in every "
    "comparison that I know of. Pages without a currency are as they were.",
    faults=(
        Fault(
            title="first error counted from 1",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", counted_from_one),),
            cause="The tool counts the steps from 1 and the code counts them from 0, so the wrong "
            "step is marked right and the one behind it wrong.",
            fix="Take one from each place that is not -1.",
            threads=("quality#12", "factgenie#193"),
            also_kinds=("pooling", "bad_numbers"),
            also_places=("marks.py of_finder",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
