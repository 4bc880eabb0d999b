"""The warm-up is far longer than the run."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="warm_up_of_the_big_run",
    level=1,
    template="sft_lora",
    ticket="Copied from the configuration of the 70B job, where everything has been tuned with "
    "care, and cut down to our number of updates. It looks healthy and slow, terribly "
    "slow: I let it finish and it had barely begun. Should we buy time on the cluster?",
    faults=(
        Fault(
            like="warmup_longer_than_the_run",
            plant=(Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 10000"),),
        ),
    ),
    non_fixes={
        "twice the rate": (Edit("config.yaml", "learning_rate: 5.0e-3", "learning_rate: 1.0e-2"),),
        "another shape": (Edit("config.yaml", "scheduler: cosine", "scheduler: linear"),),
    },
)
