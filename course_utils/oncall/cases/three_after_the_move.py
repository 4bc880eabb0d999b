"""Pairs cut too early, then a rate for one row, then another template at the export."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_after_the_move",
    level=3,
    template="dpo_digits",
    ticket="Moving house from the old repository took an hour, with three merge conflicts that "
    "I settled as best I could. Result: flat as a pancake. My settlements are probably "
    "to blame, but it was late, and I could not tell you any more which they were.",
    faults=(
        Fault(
            kind="labels",
            plant=(Edit("config.yaml", "max_length: 64", "max_length: 12"),),
            cause="The rows are cut before their replies begin, so the two of a pair are the same.",
            fix="More room.",
            threads=("trl#6668", "trl#3927"),
            also_kinds=("preference",),
        ),
        Fault(
            kind="schedule",
            plant=(
                Edit(
                    "train.py",
                    'learning_rate=float(cfg["learning_rate"]),',
                    'learning_rate=float(cfg["learning_rate"]) / (cfg["batch_size"] * '
                    'cfg["grad_accum"]),',
                ),
            ),
            cause="The rate of config.yaml is divided by the rows of a step on its way to "
            "the trainer.",
            fix="The rate as config.yaml gives it.",
            threads=("accelerate#2926", "accelerate#662"),
            also_kinds=("rate",),
        ),
        Fault(
            kind="template",
            plant=(
                Edit(
                    "train.py",
                    "def export(trainer):",
                    "SERVED = (\n"
                    "    \"{% for message in messages %}{{ message['role'] | upper }}: {{ "
                    "message['content'] }}\\n\"\n"
                    '    "{% endfor %}{% if add_generation_prompt %}ASSISTANT: {% endif '
                    '%}"\n'
                    ")\n"
                    "\n"
                    "\n"
                    "def export(trainer):",
                ),
                Edit(
                    "train.py",
                    '    tokenizer.save_pretrained(f"{RUN}/model")\n',
                    "    tokenizer.chat_template = SERVED\n"
                    '    tokenizer.save_pretrained(f"{RUN}/model")\n',
                ),
            ),
            cause="The tokenizer is exported with another chat template than the one that "
            "the model was trained with.",
            fix="Export the tokenizer as it was in training.",
            threads=("open-r1#462", "OpenRLHF#393"),
        ),
    ),
)
