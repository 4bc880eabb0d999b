"""Each rule looks at a log for one cause: `rule(log)` gives a Finding, or None."""

from course_utils.explain.rules import (
    gradients,
    groups,
    nonfinite,
    policy,
    preference,
    replies,
    training,
)

MODULES = (nonfinite, gradients, groups, policy, replies, preference, training)
RULES = tuple(rule for module in MODULES for rule in module.RULES)
