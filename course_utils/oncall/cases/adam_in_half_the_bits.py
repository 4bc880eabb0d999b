"""AdamW on weights in float16."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="adam_in_half_the_bits",
    level=1,
    template="own_loop",
    ticket="To save room I followed a blog post, and since then the job is over before my tea "
    "is. Row one of the table is perfectly normal; row two is not. Might it be the new "
    "sums of three numbers that came in the same week?",
    faults=(
        Fault(
            kind="half_precision",
            plant=(
                Edit(
                    "train.py",
                    'AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")',
                    'AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float16")',
                ),
            ),
            cause="The weights are float16 under AdamW: its eps of 1e-8 is 0 in that "
            "format, and where a gradient is 0 it divides 0 by 0.",
            fix="Weights in float32.",
            threads=("trl#2367", "pytorch#147437"),
            also_kinds=("bad_numbers",),
        ),
    ),
    non_fixes={
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 16"),),
    },
)
