"""Which trainable parameters receive a gradient, and where the graph was cut for the others.

audit      one forward and backward pass, and what it means for each parameter
influence  follows which parameters a value depends on, through every torch call
crossings  a call that took a gradient history and returned none
report     what was found
"""

from course_utils.diagnostics.gradient_flow.audit import audit_gradients
from course_utils.diagnostics.gradient_flow.crossings import Cause, Cut
from course_utils.diagnostics.gradient_flow.report import Flow, GradientFlow, ParameterFlow

__all__ = ["Cause", "Cut", "Flow", "GradientFlow", "ParameterFlow", "audit_gradients"]
