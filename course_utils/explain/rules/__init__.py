"""Each rule looks at a log for one cause: `rule(log)` gives a Finding, or None."""

from course_utils.explain.rules import (
    collapse,
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
    same_scores,
    start,
    still,
    training,
)

MODULES = (
    *(nonfinite, evaluations, gradients, groups, collapse, policy, replies, drift, same_scores),
    *(preference, rates, start, still, training, measured, looks_wrong),
)
RULES = tuple(rule for module in MODULES for rule in module.RULES)
