"""The warm-up is longer than the run, so its learning rate is never reached."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="warmup_of_another_run",
    level=1,
    template="own_loop",
    ticket="Since we cut this job down to something that fits into a lunch break, the model "
    "comes out "
    "half-baked. It does get better all the way, without a bump, and then it is over. More rows "
    "did not change that, and I am sure that the big job had used the very same settings.",
    faults=(
        Fault(
            like="warmup_longer_than_the_run",
            plant=(Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 10000"),),
            also_kinds=("rate",),
        ),
    ),
    non_fixes={
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
