"""The exercises of lesson 06: a loss without a grad_fn, and the same cut without an error.

One module for each thing to understand: its exercises, their criteria and answers.
`gradients` holds what several of them look at.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_06.bare import BARE
from course_utils.exercises.lesson_06.fix import FIX
from course_utils.exercises.lesson_06.frozen_head import HEAD
from course_utils.exercises.lesson_06.mean_loss import MEAN
from course_utils.exercises.lesson_06.names import NAMES
from course_utils.exercises.lesson_06.quiz import QUIZ
from course_utils.exercises.lesson_06.reference import REFERENCE
from course_utils.exercises.lesson_06.rule import RULE
from course_utils.exercises.lesson_06.saved_adapter import ADAPTER
from course_utils.exercises.lesson_06.silent import SILENT
from course_utils.exercises.lesson_06.smooth_loss import SMOOTH
from course_utils.exercises.lesson_06.unseen import UNSEEN

WHICH_ELEMENT = Prediction(
    id="06.a",
    name="WHICH_ELEMENT",
    question="Element 0 is the loss. Why does it not require grad?",
    choices={
        "a": "the LoRA matrices are frozen",
        "b": "bf16 or DeepSpeed loses the gradient",
        "c": "an activation on the way was computed without a graph",
        "d": "the loss was detached by the trainer",
    },
)

WITH_HEAD = Prediction(
    id="06.b",
    name="WITH_HEAD",
    question="The same settings, but a reward model: a new head trains beside LoRA. What happens?",
    choices={
        "a": "the same error",
        "b": "no error, everything trains",
        "c": "no error, the loss does not move",
        "d": "no error, the loss falls, the adapters do not learn",
    },
)

LOG_TELLS = Prediction(
    id="06.c",
    name="LOG_TELLS",
    question="By this log alone: do the adapters learn?",
    choices={
        "a": "yes, the loss falls and grad_norm is not 0",
        "b": "no, the loss falls too slowly",
        "c": "the log cannot tell",
    },
)

LESSON = Lesson(
    stem="06_grad_fn",
    title="Element 0 of tensors does not require grad and does not have a grad_fn",
    minutes=60,
    builds_on=("03",),
    exercises=(
        BARE,
        SILENT,
        RULE,
        NAMES,
        HEAD,
        REFERENCE,
        MEAN,
        SMOOTH,
        ADAPTER,
        FIX,
        UNSEEN,
        QUIZ,
    ),
    predictions=(WHICH_ELEMENT, WITH_HEAD, LOG_TELLS),
    topic="gradfn",
    deeper=("06.3", "06.4", "06.5", "06.6", "06.7", "06.8", "06.9", "06.12"),
    deeper_minutes=67,
)
