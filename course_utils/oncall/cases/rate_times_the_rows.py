"""The learning rate is multiplied by the rows of a step."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_times_the_rows",
    level=1,
    template="own_loop",
    ticket="We merged the branch from the cluster team on Monday, and Tuesday's model is a "
    "parrot: one string, repeated for each request. Their own jobs on bigger machines "
    "behave. Going back to an older dataset did not bring it back.",
    faults=(
        Fault(
            title="learning rate multiplied by the batch size",
            kind="rate",
            plant=(
                Edit(
                    "train.py",
                    'rate = float(cfg["learning_rate"])\n',
                    'rate = float(cfg["learning_rate"]) * cfg["micro_batch_size"] * '
                    'cfg["accumulation_steps"]\n',
                ),
            ),
            cause="The learning rate is multiplied by the number of rows per step, sixteen here, "
            "though it was tuned for this batch size.",
            fix="Use the learning rate of config.yaml unchanged.",
            threads=("fastai#3040", "sd-scripts#383"),
            also_kinds=("schedule",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 16"),),
        "longer memory": (Edit("config.yaml", "beta2: 0.98 ", "beta2: 0.999 "),),
    },
    spares=("lower rate",),
)
