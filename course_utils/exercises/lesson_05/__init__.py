"""The exercises of lesson 05: the Gemma 3 that logs loss 0 and reward nan in float16.

One module for each thing to understand: its exercises, their criteria and answers.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_05.factor import FACTOR
from course_utils.exercises.lesson_05.fix import FIX
from course_utils.exercises.lesson_05.keep import KEEP
from course_utils.exercises.lesson_05.peaks import PEAKS
from course_utils.exercises.lesson_05.quiz import QUIZ
from course_utils.exercises.lesson_05.rescale import RESCALE
from course_utils.exercises.lesson_05.scaler import SCALER
from course_utils.exercises.lesson_05.unseen import UNSEEN

FIRST_BAD = Prediction(
    id="05.a",
    name="FIRST_BAD",
    question="The log reads loss 0, reward nan. What became inf or nan first?",
    choices={
        "a": "a weight, when the optimizer wrote it",
        "b": "the dot products of attention",
        "c": "a gradient, too small for float16",
        "d": "an activation, before there was a loss",
    },
)

SCALE_END = Prediction(
    id="05.b",
    name="SCALE_END",
    question="Two hundred steps are skipped, then one is healthy. What has happened to the scale?",
    choices={
        "a": "it settled where the gradients fit",
        "b": "it stopped at 1, and the healthy step is taken",
        "c": "it is 0, and the healthy step is skipped too",
        "d": "it is 0, and the healthy step destroys the weights",
    },
)

CLOSER = Prediction(
    id="05.c",
    name="CLOSER",
    question="Once float16 no longer overflows: which is closer to float32?",
    choices={"a": "bfloat16", "b": "float16", "c": "both are equally close"},
)

LESSON = Lesson(
    stem="05_gemma_fp16",
    title="Loss 0, grad_norm 0, reward nan",
    minutes=60,
    builds_on=("01", "03"),
    exercises=(PEAKS, SCALER, FIX, KEEP, RESCALE, FACTOR, UNSEEN, QUIZ),
    predictions=(FIRST_BAD, SCALE_END, CLOSER),
    topic="gemma",
    deeper=("05.2", "05.5", "05.6", "05.8"),
    deeper_minutes=91,
)
