"""The exercises of lesson 01: the edges of the float formats.

One module for each thing to understand: its exercises, their criteria and answers.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_01.k3 import K3
from course_utils.exercises.lesson_01.limits import LIMITS
from course_utils.exercises.lesson_01.logsoftmax import LOGSOFTMAX
from course_utils.exercises.lesson_01.masked import MASKED
from course_utils.exercises.lesson_01.quiz import QUIZ
from course_utils.exercises.lesson_01.scaler import SCALER
from course_utils.exercises.lesson_01.situations import CHOICES
from course_utils.exercises.lesson_01.unseen import UNSEEN

HOLDS = Prediction(
    id="01.a",
    name="HOLDS",
    question="Which 16-bit format turns 70000 into inf, and which turns 1.001 into 1?",
    choices={
        "a": "float16 does both",
        "b": "float16 the first, bfloat16 the second",
        "c": "bfloat16 the first, float16 the second",
        "d": "bfloat16 does both",
    },
)

STILL = Prediction(
    id="01.b",
    name="STILL",
    question="A bfloat16 weight of 1.0 gets 1000 updates of 1e-6. Where does it end?",
    choices={
        "a": "near 0.999, with rounding errors",
        "b": "exactly 1.0",
        "c": "at 0.996, the next number below 1",
    },
)

CLIPPED = Prediction(
    id="01.c",
    name="CLIPPED",
    question="One of many gradients is inf. What does clip_grad_norm_ make of the healthy ones?",
    choices={
        "a": "nan, all of them",
        "b": "0, all of them",
        "c": "it clips them to norm 1",
        "d": "it leaves them alone",
    },
)

CLAMPED = Prediction(
    id="01.d",
    name="CLAMPED",
    question="k3 is clamped to at most 10 after its exp. What is its gradient at d = 100?",
    choices={"a": "0", "b": "10", "c": "inf", "d": "nan"},
)

TOTAL = Prediction(
    id="01.e",
    name="TOTAL",
    question="A float16 running total adds 1 ten thousand times. Where does it end?",
    choices={"a": "10000", "b": "2048", "c": "about 9990", "d": "inf"},
)

SKIPPED = Prediction(
    id="01.f",
    name="SKIPPED",
    question="GradScaler starts at 65536, and the largest gradient is 30. How many steps are "
    "skipped before the first that is taken?",
    choices={"a": "none", "b": "1", "c": "5", "d": "16"},
)

LESSON = Lesson(
    stem="01_floats",
    title="inf or nan, and no idea from where: floats under the microscope",
    minutes=45,
    exercises=(MASKED, K3, LOGSOFTMAX, SCALER, UNSEEN, QUIZ, LIMITS, CHOICES),
    predictions=(HOLDS, STILL, CLIPPED, CLAMPED, TOTAL, SKIPPED),
)
