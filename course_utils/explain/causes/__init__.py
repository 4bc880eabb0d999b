"""What a log or an instrument can point to: cause, fix, where to look, lesson, instrument."""

from course_utils.explain.causes.cause import Cause
from course_utils.explain.causes.crashes import CRASHES
from course_utils.explain.causes.inputs import INPUTS
from course_utils.explain.causes.libraries import LIBRARIES
from course_utils.explain.causes.messages import MESSAGES
from course_utils.explain.causes.numbers import NUMBERS
from course_utils.explain.causes.policy import POLICY
from course_utils.explain.causes.preference import PREFERENCE
from course_utils.explain.causes.starting import STARTING
from course_utils.explain.causes.steps import STEPS
from course_utils.explain.causes.training import TRAINING
from course_utils.explain.causes.weights import WEIGHTS

__all__ = ["CAUSES", "Cause"]

_MESSAGES = (CRASHES, MESSAGES, LIBRARIES)
_ALL = (NUMBERS, TRAINING, POLICY, PREFERENCE, *_MESSAGES, INPUTS, WEIGHTS, STARTING, STEPS)
CAUSES = {cause.key: cause for some in _ALL for cause in some}
