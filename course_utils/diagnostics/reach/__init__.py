"""Which weights an adapter reached, and which it cannot change.

groups   what part of a model a tensor belongs to
reading  which tensors have an adapter
trying   an adapter on a copy of the model that holds no numbers
report   what is shown
asking   `adapter_reach`, the front door
"""

from course_utils.diagnostics.reach.asking import adapter_reach

__all__ = ["adapter_reach"]
