"""The first non-finite number of a training step: which operation made it, where, and how.

    trace_step  one step under full tracing; a model, a function or a Trainer, and a batch
    watch       a whole run, cheaply; the step that fails is run again under full tracing

An inf or NaN that is consumed on the way (a mask, a `where`) raises no alarm. Only one that
reaches the loss, a gradient or a weight does, and its trail is followed back from there.
"""

from course_utils.diagnostics.nonfinite.report import NonFiniteReport
from course_utils.diagnostics.nonfinite.step import trace_step
from course_utils.diagnostics.nonfinite.watching import watch

__all__ = ["NonFiniteReport", "trace_step", "watch"]
