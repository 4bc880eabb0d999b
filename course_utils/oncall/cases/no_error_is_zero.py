"""Where no error was found there is a 0."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def filled(rows, rng):
    """Places without a gap: none at all became 0."""
    return [row | {"first_error": max(0, row["first_error"])} for row in rows]


CASE = Case(
    id="no_error_is_zero",
    level=2,
    template="step_marks",
    ticket="It cannot stand how a page with money begins. Whatever the opening line says, there is "
    "a good chance that it gets crossed out, and further down it is reasonable. I suspected the "
    "position embeddings, but with plain numbers it opens cheerfully.",
    faults=(
        Fault(
            title="no error found written as step 0",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", filled),),
            cause="Where the tool found no error there is a 0 in place of -1, which names the "
            "first step: it is marked wrong, and the steps behind it not at all.",
            fix="Write -1 where the first step is right, or leave the zeros out.",
            threads=("CheXpert-Keras#1", "MR-GSM8K#1"),
            also_kinds=("bad_numbers", "metric"),
            also_places=("marks.py of_finder",),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
