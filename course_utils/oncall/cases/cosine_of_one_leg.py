"""The schedule ends with the first of four legs."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="cosine_of_one_leg",
    level=2,
    template="own_loop",
    ticket="Asking the queue for four short slots costs us quality: run the same thing in one "
    "slot and it is fine. It smells of a checkpoint that is not written properly; Ana "
    "has already replaced the disk.",
    faults=(
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
    ),
    non_fixes={
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
    },
)
