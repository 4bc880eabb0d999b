"""The tool did not run, and its column is full of zeros."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def empty(rows, rng):
    """The column as the table was made: zeros."""
    return [row | {"first_error": 0} for row in rows]


CASE = Case(
    id="empty_column_is_zero",
    level=1,
    template="step_marks",
    ticket="It rejects every receipt that we hand it, down to the one from the canteen that three "
    "of us have added up. Sums without a currency are as good as ever. The new table is complete, "
    "that was checked, and it is much faster than the old files.",
    faults=(
        Fault(
            title="default of a column taken for the first step",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", empty),),
            cause="The tool never ran over these solutions and 0 is the default of its column, "
            "which names the first step, so all that is marked there is marked wrong.",
            fix="Run the tool, or leave out the solutions whose column is the default.",
            threads=("CheXpert-Keras#1", "MR-GSM8K#1"),
            also_kinds=("no_signal", "bad_numbers"),
            also_places=("marks.py of_finder",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
