"""Rows cut too early, then too long a warm-up, then the wrong end token at the export."""

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
            like="prompt_fills_the_room",
            plant=(Edit("config.yaml", "max_length: 96", "max_length: 12"),),
            cause="The rows are cut before their reply begins, so nothing is left to learn.",
            fix="Raise max_length.",
        ),
        Fault(
            like="warmup_longer_than_the_run",
            plant=(Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 8000"),),
            also_kinds=("rate",),
        ),
        Fault(
            like="stops_at_another_id",
            plant=(
                Edit(
                    "train.py",
                    "eos_token_id=tokenizer.eos_token_id,",
                    "eos_token_id=tokenizer.pad_token_id,",
                ),
            ),
            cause="The exported model stops at the padding token, which it never writes.",
            fix="Export the id of the token that ends a turn.",
        ),
    ),
)
