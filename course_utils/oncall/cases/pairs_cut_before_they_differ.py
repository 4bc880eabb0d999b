"""The pairs are cut where they do not differ yet."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="pairs_cut_before_they_differ",
    level=1,
    template="dpo_digits",
    ticket="Memory had to come down and it did: a quarter of before. The quality graph is a "
    "ruler now, perfectly horizontal, while the pairs are what they always were. Finance "
    "is happy, I am not.",
    faults=(
        Fault(
            kind="labels",
            plant=(Edit("config.yaml", "max_length: 64", "max_length: 12"),),
            cause="The rows are cut before their replies begin, so the two of a pair are the same.",
            fix="More room.",
            threads=("trl#6668", "trl#3927"),
            also_kinds=("preference",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 6.0e-4"),),
        "another loss": (Edit("config.yaml", "loss_type: sigmoid", "loss_type: ipo"),),
    },
)
