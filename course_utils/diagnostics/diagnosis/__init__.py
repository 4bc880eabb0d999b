"""From a broken run to its cause: one front door for all instruments.

front       `diagnose` and `diagnose.watching`
subject     what is diagnosed: a Trainer or the parts of a loop
looks*      before and after: batch, weights, tables, settings, forward, split, reward, log, outcome
pricing, held_change, said_replies       what a look measures, where that is more than a line
stepping, pace_watch, *_watch            what a run is asked while it runs
judge_*     what those numbers mean
comparing, auditing    audits that can be called alone
ranking, following, verdicts, unexplained    which cause comes first, what follows from it and not
layout, specimens, settings, report          what is shown
"""

from course_utils.diagnostics.diagnosis.auditing import audit_policy, audit_step
from course_utils.diagnostics.diagnosis.callback import DiagnoseCallback
from course_utils.diagnostics.diagnosis.front import diagnose
from course_utils.diagnostics.diagnosis.measures.comparing import compare_models

__all__ = ["DiagnoseCallback", "audit_policy", "audit_step", "compare_models", "diagnose"]
