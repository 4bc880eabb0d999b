"""The pairs are cut before their replies, and none is left."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="pairs_cut_before_they_differ",
    level=1,
    template="dpo_digits",
    ticket="To make it fit beside the other tenants I trimmed this and that. Now it claims to "
    "have zero samples, which is absurd: right next to it the banner counts three "
    "hundred and eighty-four. Emptying the cache of the dataset library did nothing.",
    faults=(
        Fault(
            like="prompt_fills_the_room",
            plant=(Edit("config.yaml", "max_length: 64", "max_length: 12"),),
            cause="The rows are cut before their replies begin; the trainer drops rows without a "
            "reply, and none is left.",
            fix="Raise max_length.",
            also_kinds=("preference",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 6.0e-4"),),
        "another loss": (Edit("config.yaml", "loss_type: sigmoid", "loss_type: ipo"),),
    },
)
