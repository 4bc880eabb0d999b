"""Whether the gradient of the same rows depends on how they are cut into micro-batches and ranks.

stepping   one optimizer step's gradient for one split, of a Trainer or of a function
ranks      a Trainer that believes in several processes, in one
judging    which factor, which weights
report     what is shown
comparing  `compare_splits`, the front door
"""

from course_utils.diagnostics.splits.comparing import compare_splits

__all__ = ["compare_splits"]
