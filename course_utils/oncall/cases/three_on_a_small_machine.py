"""Half precision under AdamW, then a rate times itself, then replies without an end."""

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
                    "    def factor(step):\n",
                    '    top = float(cfg["learning_rate"])\n\n    def rate(step):\n',
                ),
                Edit(
                    "train.py",
                    '            return (step + 1) / cfg["warmup_steps"]\n',
                    '            return top * (step + 1) / cfg["warmup_steps"]\n',
                ),
                Edit(
                    "train.py",
                    "        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))\n",
                    "        return 0.5 * top * (1 + math.cos(math.pi * min(done, 1.0)))\n",
                ),
                Edit("train.py", "LambdaLR(optimizer, factor)", "LambdaLR(optimizer, rate)"),
            ),
            cause="LambdaLR multiplies the optimizer's rate by what the function returns, "
            "and the function returns a rate: what is used is its square.",
            fix="A function that returns a factor between 0 and 1.",
            threads=("pytorch#78917", "MIC#60"),
            also_kinds=("rate",),
            also_places=("train.py make_optimizer",),
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
