"""GRPO with the learning rate of a fine-tune."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_of_sft",
    level=1,
    template="grpo_sums",
    ticket="The first step or two look promising, then the reward is gone and does not come back. "
    "The replies at the end are noise. The same settings have served us well for supervised "
    "runs for months.",
    faults=(
        Fault(
            like="rate_of_sft",
            plant=(Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 1.0e-2"),),
            fix="Use a hundredth of the learning rate.",
            also_kinds=("collapse",),
        ),
    ),
    non_fixes={
        "clip the ratio": (Edit("config.yaml", "epsilon: 0.2", "epsilon: 0.05"),),
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.1 "),),
    },
    spares=("lower rate",),
)
