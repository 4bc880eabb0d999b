"""The id of one source is that of the till, so what looks repeated is left out."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

NUM_TILLS = 6


def numbered(rows, rng):
    """Each chat with the number of the till it comes from."""
    return [row | {"id": 70_000 + rng.randint(1, NUM_TILLS)} for row in rows]


CASE = Case(
    id="ids_that_are_not_unique",
    level=2,
    template="prep_rows",
    ticket="Whoever comes to the counter is answered as if there were no counter: a bare total, "
    "and nothing of cents. All four hundred of its conversations are in the folder, I opened a "
    "few and would sign each of them. The run itself is calm and reaches a lower loss than any "
    "before, which I took for a good sign.",
    faults=(
        Fault(
            title="rows lost to ids that are not unique",
            kind="labels",
            plant=(EditRows("data/desk.jsonl", numbered),),
            cause="The desk's ids are those of six tills, and of each id only the first row is "
            "kept: six chats of four hundred are left.",
            fix="Give each chat an id of its own, or compare the chats and not the ids.",
            threads=("sgl-eval#39", "MG-LLaVA#1"),
            also_places=("prepare.py without_repeats",),
        ),
    ),
    non_fixes={
        "longer rows": (Edit("config.yaml", "max_length: 64", "max_length: 256"),),
        "every grade": (Edit("config.yaml", "least_grade: 4 ", "least_grade: 1 "),),
    },
)
