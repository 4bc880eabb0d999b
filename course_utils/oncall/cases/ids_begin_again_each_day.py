"""Ids are those of one day, and votes are joined by id alone."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

A_DAY = 96  # replies


def within_the_day(rows, rng):
    """Ids that begin again each day."""
    return [row | {"id": row["id"] % A_DAY} for row in rows]


CASE = Case(
    id="ids_begin_again_each_day",
    level=2,
    template="kto_votes",
    ticket="The week was moved into the new register. Everything loads, the counts agree to the "
    "last one, and the example that is printed looks like an example. What comes out knows less "
    "than what went in. I have looked up ten votes of the last day by hand, and each of them fits.",
    faults=(
        Fault(
            like="ids_that_are_not_unique",
            title="votes joined to replies of another day",
            plant=(
                EditRows("data/log.jsonl", within_the_day),
                EditRows("data/votes.jsonl", within_the_day),
            ),
            cause="Ids begin again each day and the join knows nothing of days, so each vote is "
            "given to the last day's reply of that number.",
            fix="Join by day and id.",
            also_kinds=("preference", "no_signal"),
            also_places=("votes.py load_feedback",),
        ),
    ),
    non_fixes={
        "higher beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.5"),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 3", "warmup_steps: 10"),),
    },
)
