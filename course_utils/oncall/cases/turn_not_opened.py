"""The prompts in training lack the opening of the assistant's turn."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="turn_not_opened",
    level=1,
    template="own_loop",
    ticket="The loss in the console falls as it did for the last job. In the chat window the model "
    "of this one gives a mess of half replies. What we serve is byte for byte what training wrote, "
    "so it must be sampling.",
    faults=(
        Fault(
            like="served_by_hand",
            plant=(Edit("data.py", "add_generation_prompt=True", "add_generation_prompt=False"),),
            cause="The prompts in the rows stop before the line that opens the assistant's turn, "
            "but the server sends that line.",
            fix="Set add_generation_prompt=True.",
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
        "a higher limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 48"),),
    },
)
