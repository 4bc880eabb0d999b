"""The tokenizer ends a turn with the base's token, and so does what is exported."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="ends_a_turn_like_the_base",
    level=2,
    template="grpo_sums",
    ticket="The grader here likes it and the training log as well. On the phone it does "
    "not hang up: the figure is said, and then it rambles till the line is cut. "
    "Colleagues say that the app keeps the connection open too long.",
    faults=(
        Fault(
            like="stops_at_another_id",
            plant=(
                Edit(
                    "train.py",
                    '    tokenizer.padding_side = "left"  # replies begin where prompts end\n',
                    '    tokenizer.padding_side = "left"  # replies begin where prompts end\n'
                    '    tokenizer.eos_token = "<|endoftext|>"\n',
                ),
            ),
            cause="The tokenizer's end token is <|endoftext|>, but the template ends a turn with "
            "<|im_end|>, and the export writes the tokenizer's id.",
            fix="Leave the tokenizer's end token as it is.",
            also_kinds=("template",),
            also_places=("train.py export",),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("train.py", "max_new_tokens=8", "max_new_tokens=5"),),
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
    },
)
