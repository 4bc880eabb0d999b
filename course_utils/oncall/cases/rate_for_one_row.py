"""The rate is divided by the rows of a step."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_for_one_row",
    level=1,
    template="dpo_digits",
    ticket="Since the refactoring on Thursday, tuning on pairs is homeopathic. I can see the "
    "effect under a microscope, in the fourth digit, and our customers have none. "
    "Thursday's author swears that only names were changed.",
    faults=(
        Fault(
            title="learning rate divided by the batch size",
            kind="schedule",
            plant=(
                Edit(
                    "train.py",
                    'learning_rate=float(cfg["learning_rate"]),',
                    'learning_rate=float(cfg["learning_rate"]) / (cfg["batch_size"] * '
                    'cfg["grad_accum"]),',
                ),
            ),
            cause="The learning rate of config.yaml is divided by the rows per step on its way "
            "to the trainer.",
            fix="Use the learning rate of config.yaml unchanged.",
            threads=("accelerate#2926", "accelerate#662"),
            also_kinds=("rate",),
        ),
    ),
    non_fixes={
        "a lower beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.05"),),
        "no decay of the rate": (Edit("config.yaml", "scheduler: linear", "scheduler: constant"),),
    },
)
