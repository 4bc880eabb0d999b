"""Both sides of a pair are the same column."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="one_column_twice",
    level=1,
    template="reward_pairs",
    ticket="0.693, 0.693, 0.693. I left it on over lunch, with the same figure on the "
    "screen when I came back. The annotators are sure that they disagreed often "
    "enough, and the sheets they sent prove it.",
    faults=(
        Fault(
            title="both replies from one column",
            kind="no_signal",
            plant=(
                Edit(
                    "data.py",
                    '"rejected": chat(row["question"], row["rejected"])',
                    '"rejected": chat(row["question"], row["chosen"])',
                ),
            ),
            cause="Both replies of a pair are the chosen one, so their scores are equal whatever "
            "the weights are.",
            fix="Read the other column.",
            threads=("trl#1236", "trl#2371"),
            also_kinds=("no_grad", "labels", "preference", "pooling"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 1.0e-3"),),
        "no centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.00 "),),
    },
)
