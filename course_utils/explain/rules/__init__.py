"""Each rule looks at a log for one cause: `rule(log)` gives a Finding, or None."""

from course_utils.explain.rules import (
    drift,
    evaluations,
    gradients,
    groups,
    looks_wrong,
    measured,
    nonfinite,
    policy,
    preference,
    rates,
    replies,
    start,
    still,
    training,
)

MODULES = (
    *(nonfinite, evaluations, gradients, groups, policy, replies, drift, preference),
    *(rates, start, still, training, measured, looks_wrong),
)
RULES = tuple(rule for module in MODULES for rule in module.RULES)
