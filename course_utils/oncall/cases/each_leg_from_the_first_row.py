"""Each leg sees the same rows again."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="each_leg_from_the_first_row",
    level=2,
    template="own_loop",
    ticket="On the training questions it is faultless, on anything fresh mediocre. That reads "
    "like too many passes, yet we go through the file exactly once by design. Could "
    "somebody look at whether the test questions are harder?",
    faults=(
        Fault(
            kind="resume",
            plant=(
                Edit(
                    "train.py",
                    "stream = batches.starting_at(step * accumulated)",
                    "stream = iter(batches.starting_at(0))",
                ),
            ),
            cause="Each leg begins with the first rows again, so three quarters of the "
            "rows are never seen.",
            fix="Go on from the micro-batch at which the last leg stopped.",
            threads=("transformers#11323",),
        ),
    ),
    non_fixes={
        "more decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.1"),),
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
    },
)
