"""Rows are cut, then the rate dies, then the exported model stops elsewhere."""

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
            plant=(
                Edit(
                    "train.py",
                    "    optimizer.step()\n    schedule.step()\n",
                    "    optimizer.step()\n    for _ in micro_batches:\n        schedule.step()\n",
                ),
            ),
            cause="The schedule is stepped once for each micro-batch, so the rate is 0 after a "
            "quarter of the run.",
            fix="Step the schedule once a step.",
            threads=("llama-cookbook#27", "accelerate#2926"),
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
