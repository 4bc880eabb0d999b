"""The tool names the last right step, and not the first error."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def still_right(rows, rng):
    """The last step up to which all is right, or -1."""
    return [row | {"first_error": _last_right(row)} for row in rows]


def _last_right(row):
    steps, first = row["solution"].split("\n"), row["first_error"]
    return len(steps) - 1 if first < 0 else first - 1


CASE = Case(
    id="last_right_step",
    level=2,
    template="step_marks",
    ticket="Shop receipts are a riddle. A clean one always gets a red line somewhere, often at the "
    "bottom, and one that begins with rubbish comes back without a remark. Maybe the dollar sign "
    "splits into something strange? Without it the very same digits are judged well.",
    faults=(
        Fault(
            title="last right step in place of the first error",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", still_right),),
            cause="The tool names the last right step, so that one is marked wrong, and what is "
            "wrong behind it is not marked at all or, at the beginning, marked right.",
            fix="Add one to each place, and write -1 where that is behind the last step.",
            threads=("MR-GSM8K#1", "PURE#8"),
            also_kinds=("pooling", "bad_numbers"),
            also_places=("marks.py of_finder",),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
