"""The pairs are trained as plain text, and scored as chats."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="pairs_as_plain_text",
    level=2,
    template="reward_pairs",
    ticket="In the notebook of the person who trained it, it ranks very well. Behind "
    "the gateway the same file ranks no better than a coin. Both of us give it the "
    "same questions and the same candidates, copied from the same sheet.",
    faults=(
        Fault(
            title="pairs trained as plain text",
            kind="template",
            plant=(
                Edit(
                    "data.py",
                    '        "chosen": chat(row["question"], row["chosen"]),\n'
                    '        "rejected": chat(row["question"], row["rejected"]),',
                    '        "chosen": row["question"] + row["chosen"],\n'
                    '        "rejected": row["question"] + row["rejected"],',
                ),
            ),
            cause="Question and reply are joined as plain text, but the service renders them as "
            "a chat.",
            fix="Train on chats.",
            threads=("LlamaFactory#2509", "OpenRLHF#393"),
        ),
    ),
    non_fixes={
        "more centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.10 "),),
        "lower rate by 3": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 1.0e-4"),),
    },
)
