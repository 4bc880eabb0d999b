"""Half of the pairs are the wrong way round."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def _as_shown(rows, rng):
    """Left and right as the annotators saw them, in place of better and worse."""
    turned = ({"chosen": row["rejected"], "rejected": row["chosen"]} for row in rows)
    return [
        row | other if rng.random() < 0.5 else row for row, other in zip(rows, turned, strict=True)
    ]


CASE = Case(
    id="left_and_right_for_better_and_worse",
    level=2,
    template="dpo_digits",
    ticket="Fresh annotations arrived from the vendor, three hundred and eighty-four of them, "
    "double-checked. With the older batch this script needed a minute to get somewhere; "
    "with these it wanders about a coin toss. The vendor's agreement score is excellent.",
    faults=(
        Fault(
            title="half of the pairs swapped",
            kind="preference",
            plant=(EditRows("data/pairs.jsonl", _as_shown),),
            cause="In half of the rows the better reply is under rejected: the file has left and "
            "right, not better and worse.",
            fix="Put the right sum under chosen.",
            threads=("trl#2578",),
            also_kinds=("no_signal",),
            also_places=("data.py to_pair",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 6.0e-4"),),
        "smoothing": (Edit("config.yaml", "label_smoothing: 0.0", "label_smoothing: 0.1"),),
    },
)
