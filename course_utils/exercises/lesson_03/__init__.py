"""The exercises of lesson 03: the LoRA reward model that logs 1.19e34, nan, then 0.

One module for each thing to understand: its exercises, their criteria and answers.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_03.adamw_step import STEP
from course_utils.exercises.lesson_03.alarm import ALARM
from course_utils.exercises.lesson_03.dead import DEAD
from course_utils.exercises.lesson_03.decode import LOGGED
from course_utils.exercises.lesson_03.fix import FIX
from course_utils.exercises.lesson_03.quiz import QUIZ
from course_utils.exercises.lesson_03.survival import RULE
from course_utils.exercises.lesson_03.unseen import UNSEEN

FIRST_DEATH = Prediction(
    id="03.a",
    name="FIRST_DEATH",
    question="The log reads 1.19e+34, then 0. What became inf or nan first?",
    choices={
        "a": "the loss, while 32 micro-batches were summed",
        "b": "an activation in the forward pass, beyond 65504",
        "c": "a gradient in the backward pass",
        "d": "a weight, when the optimizer wrote it",
    },
)

SMALL_WINDOW = Prediction(
    id="03.b",
    name="SMALL_WINDOW",
    question="The same run with one micro-batch per step. Will its first log line look broken?",
    choices={
        "a": "yes, loss is nan",
        "b": "yes, loss is huge",
        "c": "no, loss looks plausible",
        "d": "no, because the run is healthy then",
    },
)

LESSON = Lesson(
    stem="03_reward_nan",
    title="Loss 1.19e+34, grad_norm nan, then loss 0",
    minutes=60,
    builds_on=("01",),
    exercises=(DEAD, FIX, QUIZ, LOGGED, STEP, RULE, ALARM, UNSEEN),
    deeper=("03.2", "03.3", "03.4", "03.6", "03.8"),
    deeper_minutes=96,
    predictions=(FIRST_DEATH, SMALL_WINDOW),
    topic="reward",
)
