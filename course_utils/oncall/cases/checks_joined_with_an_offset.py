"""The held-out answers have slipped, so the weights of the first steps look best."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def joined(rows, rng):
    """Each question with the answer of the row two before, which is of the same kind."""
    others = [*rows[-2:], *rows[:-2]]
    return [row | {"answer": other["answer"]} for row, other in zip(rows, others, strict=True)]


CASE = Case(
    id="checks_joined_with_an_offset",
    level=2,
    template="prep_rows",
    ticket="We watched the loss on the big screen, and towards the end it was as small as ever. "
    "What it left behind for us adds like a beginner. A colleague blames the disk, "
    "another one a random seed; I only know that last month the two agreed.",
    faults=(
        Fault(
            like="answers_of_the_next_row",
            title="held-out answers shifted by two rows",
            kind="metric",
            plant=(EditRows("data/checks.jsonl", joined),),
            cause="The checks have the answers of other checks, so their loss rises while the "
            "model learns, and the weights of the first steps are kept as the best.",
            fix="Put the answers back with their questions.",
            also_kinds=("stale_weights", "labels"),
            also_places=("train.py train", "train.py check_loss", "prepare.py load_rows"),
        ),
    ),
    non_fixes={
        "checked more often": (Edit("config.yaml", "check_every: 8 ", "check_every: 4 "),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
