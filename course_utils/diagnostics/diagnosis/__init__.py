"""From a broken run to its cause: one front door for all instruments.

front, callback, lightning, folder, ride    the doors: a call, a callback, a run's folder
deaths      what is known of a run that died in a child process
auditing    two audits that can be called alone
looks/      before and after the run: batch, weights, settings, forward, split, reward, log
watches/    what is recorded while a run runs
judges/     what the numbers of its steps mean
measures/   longer measurements that looks and judges share
sheet/      where all of them write: the findings, and the run they are about
report/     ranking, fixes, consequences; the short report and its details
"""

from course_utils.diagnostics.diagnosis.auditing import audit_policy, audit_step
from course_utils.diagnostics.diagnosis.callback import DiagnoseCallback
from course_utils.diagnostics.diagnosis.front import diagnose
from course_utils.diagnostics.diagnosis.lightning import lightning_callback
from course_utils.diagnostics.diagnosis.measures.comparing import compare_models

__all__ = [
    "DiagnoseCallback",
    "audit_policy",
    "audit_step",
    "compare_models",
    "diagnose",
    "lightning_callback",
]
