"""The first error is counted from 1, and none is 0."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def counted_from_one(rows, rng):
    """Places as people count them, and 0 for none."""
    return [row | {"first_error": row["first_error"] + 1} for row in rows]


CASE = Case(
    id="first_error_from_one",
    level=1,
    template="step_marks",
    ticket="On pages with money it praises the blunder and scolds the line below, or one that "
    "nobody would object to. We have had a new detector for these since March, which beats the old "
    "one in every comparison that I know of. Pages without a currency are as they were.",
    faults=(
        Fault(
            title="first error counted from 1",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", counted_from_one),),
            cause="The tool counts the steps from 1 and says 0 where it finds no error, the code "
            "counts from 0: wrong steps are marked right, and right ones behind them or at the "
            "beginning wrong.",
            fix="Take one from each place.",
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
