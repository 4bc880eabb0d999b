"""What a log can point to: a sentence of cause, the fix, where to look next, lesson, instrument."""

from course_utils.explain.causes.cause import Cause
from course_utils.explain.causes.crashes import CRASHES
from course_utils.explain.causes.messages import MESSAGES
from course_utils.explain.causes.numbers import NUMBERS
from course_utils.explain.causes.policy import POLICY
from course_utils.explain.causes.preference import PREFERENCE
from course_utils.explain.causes.training import TRAINING

__all__ = ["CAUSES", "Cause"]

CAUSES = {
    cause.key: cause for cause in (*NUMBERS, *TRAINING, *POLICY, *PREFERENCE, *CRASHES, *MESSAGES)
}
