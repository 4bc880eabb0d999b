"""Half precision under AdamW, then a cosine of one leg, then replies without an end."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_on_a_small_machine",
    level=3,
    template="own_loop",
    ticket="To get it onto the office box we slimmed it down bit by bit over an afternoon, with "
    "a good deal of copying from one another. The box copes. The product is void, and "
    "putting back any one thing that I remember changes the flavour of the failure and "
    "nothing more.",
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
        Fault(
            kind="schedule",
            plant=(
                Edit(
                    "train.py",
                    '        done = (step - cfg["warmup_steps"]) / (cfg["max_steps"] - '
                    'cfg["warmup_steps"])\n',
                    '        steps = cfg["max_steps"] // cfg["legs"] - cfg["warmup_steps"]\n'
                    '        done = (step - cfg["warmup_steps"]) / steps\n',
                ),
            ),
            cause="The cosine is as long as one leg, so the rate is 0 from the second leg on.",
            fix="A cosine as long as the whole run.",
            threads=("transformers#33336", "llama-cookbook#27"),
            also_kinds=("resume",),
        ),
        Fault(
            kind="never_stops",
            plant=(
                Edit(
                    "data.py",
                    'reply = row["answer"] + tokenizer.eos_token',
                    'reply = row["answer"].strip()',
                ),
            ),
            cause="The rows have no end token behind the reply, so nothing teaches the "
            "model to end one.",
            fix="Put the end token behind each reply, with a label.",
            threads=("trl#734", "trl#1623", "trl#3091"),
        ),
    ),
)
