"""From a broken run to its cause: one front door for all instruments.

front, callback, folder, ride    the doors: a call, a Trainer's callback, a run's folder
auditing    two audits that can be called alone
looks/      before and after the run: batch, weights, settings, forward, split, reward, log
watches/    what is asked of a run while it runs
judges/     what the numbers of its steps mean
measures/   what is measured where that is more than a line
sheet/      what they all write on: the findings, and about what run
report/     ranking, fixes, consequences, layout
"""

from course_utils.diagnostics.diagnosis.auditing import audit_policy, audit_step
from course_utils.diagnostics.diagnosis.callback import DiagnoseCallback
from course_utils.diagnostics.diagnosis.front import diagnose
from course_utils.diagnostics.diagnosis.measures.comparing import compare_models

__all__ = ["DiagnoseCallback", "audit_policy", "audit_step", "compare_models", "diagnose"]
