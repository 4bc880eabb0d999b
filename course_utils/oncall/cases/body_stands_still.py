"""The backbone is frozen, and only the head is trained."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="body_stands_still",
    level=1,
    template="reward_pairs",
    ticket="It takes half the time since the speed-up, and the scores are half as good. "
    "More passes over the pairs change little. The author of the speed-up says "
    "that nothing but the new part needs work, since the rest can add already.",
    faults=(
        Fault(
            title="backbone frozen",
            kind="no_grad",
            plant=(
                Edit(
                    "train.py",
                    "    with torch.no_grad():\n        model.score",
                    "    model.base_model.requires_grad_(False)\n"
                    "    with torch.no_grad():\n"
                    "        model.score",
                ),
            ),
            cause="The backbone is frozen, and at this rate the head alone does not learn to "
            "tell right sums from wrong ones.",
            fix="Train the backbone as well.",
            threads=("trl#3150", "open-unlearning#178"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 3.0e-3"),),
        "no centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.00 "),),
    },
)
