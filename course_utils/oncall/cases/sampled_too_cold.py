"""Sampling is all but greedy, so the replies of a group are copies."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="sampled_too_cold",
    level=1,
    template="grpo_sums",
    ticket="Two hours of training, and the policy is where it began. The rollouts that I looked at "
    "are tidy and many of them are right, so the rewards do work. I would expect at least some "
    "movement.",
    faults=(
        Fault(
            like="sampled_too_cold",
            plant=(Edit("config.yaml", "temperature: 1.0", "temperature: 0.001"),),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 3.0e-4"),),
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
    },
)
