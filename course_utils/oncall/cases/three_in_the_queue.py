"""Rows are cut, then the rate never comes, then the exported model stops elsewhere."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_in_the_queue",
    level=3,
    template="own_loop",
    ticket="This run has been handed from desk to desk. The first log had nothing in it that I "
    "could use. I have changed nothing but what the notes of the last owner told me to. "
    "Please make it train like the one in March, and tell us all that was wrong.",
    faults=(
        Fault(
            kind="labels",
            plant=(Edit("config.yaml", "max_length: 96", "max_length: 12"),),
            cause="The rows are cut before their reply begins, so that nothing is left to learn.",
            fix="More room.",
            threads=("trl#6668", "trl#3927"),
        ),
        Fault(
            kind="schedule",
            plant=(Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 8000"),),
            cause="The warm-up of 8,000 steps is longer than the run of 48, so the rate stays "
            "below a hundredth of what was asked.",
            fix="A warm-up of a few of the run's own steps.",
            threads=("GPT2-Chinese#60",),
            also_kinds=("rate",),
        ),
        Fault(
            kind="never_stops",
            plant=(
                Edit(
                    "train.py",
                    "eos_token_id=tokenizer.eos_token_id,",
                    "eos_token_id=tokenizer.pad_token_id,",
                ),
            ),
            cause="The exported model stops at the padding token, which it never says.",
            fix="Export the id of the token that ends a turn.",
            threads=("ms-swift#3113", "Qwen3#927"),
        ),
    ),
)
