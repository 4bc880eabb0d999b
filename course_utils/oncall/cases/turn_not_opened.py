"""The prompts in training lack the opening of the assistant's turn."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="turn_not_opened",
    level=1,
    template="own_loop",
    ticket="Final number in the console: excellent. Same folder in the chat window: a mess of "
    "half replies. I have compared the two checkpoints byte by byte and they are one and "
    "the same, so it must be sampling.",
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
