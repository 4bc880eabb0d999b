"""Each rule looks at a log for one cause: `rule(log)` gives a Finding, or None."""

from course_utils.explain.rules import nonfinite, policy, preference, training

RULES = (*nonfinite.RULES, *policy.RULES, *preference.RULES, *training.RULES)
