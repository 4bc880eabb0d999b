"""The prompt ends before the assistant's turn is opened."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="asked_without_a_turn",
    level=1,
    template="rl_loop",
    ticket="After the clean-up of the prompt code the average score sits on the floor "
    "from the very first rollout, and before it used to begin near a half. The "
    "reviewer found nothing to object to: one keyword, he says, which only "
    "matters for chat demos.",
    faults=(
        Fault(
            like="served_by_hand",
            plant=(
                Edit(
                    "rollout.py",
                    "apply_chat_template(chats, add_generation_prompt=True, tokenize=False)",
                    "apply_chat_template(chats, tokenize=False)",
                ),
            ),
            cause="The prompt is rendered without the generation prompt, so the policy has to "
            "open the assistant's turn itself.",
            fix="Set add_generation_prompt=True.",
            also_kinds=("no_signal",),
        ),
    ),
    non_fixes={
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
