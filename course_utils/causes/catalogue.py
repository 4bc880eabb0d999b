"""All records by key, in the order in which their phrases are tried."""

from itertools import chain

from course_utils.causes.calls import CALLS
from course_utils.causes.cause import Cause
from course_utils.causes.data import DATA
from course_utils.causes.ends import ENDS
from course_utils.causes.first_nan import FIRST_NAN
from course_utils.causes.gradients import GRADIENTS
from course_utils.causes.habits import HABITS
from course_utils.causes.half_precision import HALF_PRECISION
from course_utils.causes.inputs import INPUTS
from course_utils.causes.libraries import LIBRARIES
from course_utils.causes.losses import LOSSES
from course_utils.causes.memory import MEMORY
from course_utils.causes.numbers import NUMBERS
from course_utils.causes.own_code import OWN_CODE
from course_utils.causes.parts import PARTS
from course_utils.causes.policy import POLICY
from course_utils.causes.preference import PREFERENCE
from course_utils.causes.processes import PROCESSES
from course_utils.causes.rates import RATES
from course_utils.causes.refusals import REFUSALS
from course_utils.causes.rewards import REWARDS
from course_utils.causes.rollouts import ROLLOUTS
from course_utils.causes.rows import ROWS
from course_utils.causes.set_numbers import SET_NUMBERS
from course_utils.causes.targets import TARGETS
from course_utils.causes.weights import WEIGHTS

_ALL = (
    *(
        PROCESSES,
        MEMORY,
        NUMBERS,
        FIRST_NAN,
        HALF_PRECISION,
        GRADIENTS,
        WEIGHTS,
        INPUTS,
        ROWS,
        ENDS,
    ),
    *(LOSSES, RATES, REWARDS, POLICY, PREFERENCE, LIBRARIES),
    *(DATA, OWN_CODE, TARGETS, PARTS, SET_NUMBERS, CALLS, HABITS, ROLLOUTS, REFUSALS),
)
CAUSES: dict[str, Cause] = {one.key: one for one in chain.from_iterable(_ALL)}
BY_NAME = {name: key for key, cause in CAUSES.items() for name in cause.names}  # of instruments
