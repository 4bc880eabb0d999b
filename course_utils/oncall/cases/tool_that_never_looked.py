"""The tool did not run, and its column says that there is no error."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def not_looked(rows, rng):
    """The column before the tool has been there: nothing is found."""
    return [row | {"first_error": -1} for row in rows]


CASE = Case(
    id="tool_that_never_looked",
    level=2,
    template="step_marks",
    ticket="Receipts pass, all of them, also the one that I made up with a total of eight hundred "
    "for two coffees. It is a bit too kind elsewhere as well. Nobody had to wait for the data this "
    "time, it came over night and without a single gap.",
    faults=(
        Fault(
            title="default of a check that never ran",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", not_looked),),
            cause="The tool never ran over these solutions and -1, no error, is the default of its "
            "column, so every step with a price is marked right.",
            fix="Run the tool, or leave the solutions unmarked whose column is the default.",
            threads=("MR-GSM8K#1", "BIG-Bench-Mistake#1"),
            also_kinds=("no_signal", "bad_numbers"),
            also_places=("marks.py of_finder",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
