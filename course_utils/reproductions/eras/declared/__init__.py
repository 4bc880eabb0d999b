"""The eras: what was reported, what the scripts change, what must show then and now.

One module for each failure. The rows are the table of docs/then_and_now.md; a test compares them.
"""

from course_utils.reproductions.eras.declared.batch_loss import BATCH_LOSS
from course_utils.reproductions.eras.declared.gemma import GEMMA
from course_utils.reproductions.eras.declared.grad_fn import GRAD_FN
from course_utils.reproductions.eras.declared.never_stops import NEVER_STOPS
from course_utils.reproductions.eras.declared.reward_nan import REWARD_NAN
from course_utils.reproductions.eras.declared.reward_up import REWARD_UP
from course_utils.reproductions.eras.declared.served_not_trained import SERVED_NOT_TRAINED
from course_utils.reproductions.eras.declared.sigfpe import SIGFPE
from course_utils.reproductions.eras.declared.two_logprobs import TWO_LOGPROBS
from course_utils.reproductions.eras.declared.verl import VERL

ERAS = (
    SIGFPE,
    REWARD_NAN,
    VERL,
    GEMMA,
    GRAD_FN,
    NEVER_STOPS,
    BATCH_LOSS,
    REWARD_UP,
    TWO_LOGPROBS,
    SERVED_NOT_TRAINED,
)
