"""The warm-up is longer than the whole run."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="warm_up_of_the_large_run",
    level=1,
    template="grpo_sums",
    ticket="I copied the optimisation block from the release that went so well, the one "
    "that took nine days. Here the curve does not bend at all in the time we "
    "have. It is no crash, and the numbers are plausible; it is only as though "
    "somebody had sedated it.",
    faults=(
        Fault(
            like="warmup_longer_than_the_run",
            plant=(
                Edit("config.yaml", "scheduler: constant", "scheduler: constant_with_warmup"),
                Edit("config.yaml", "warmup_steps: 0", "warmup_steps: 500"),
            ),
            enough=(1, 2),  # no warm-up is made, or none is asked for
        ),
    ),
    non_fixes={
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
        "cosine instead": (
            Edit("config.yaml", "scheduler: constant_with_warmup", "scheduler: cosine"),
        ),
    },
)
