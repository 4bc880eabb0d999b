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
    question="One of many gradients is inf. What does clip_grad_norm_ do to the healthy gradients?",
    choices={
        "a": "nan, all of them",
        "b": "0, all of them",
        "c": "it scales them to a norm of 1",
        "d": "it leaves them unchanged",
    },
)

CLAMPED = Prediction(
    id="01.d",
    name="CLAMPED",
    question="The value of k3 is clamped to at most 10. What is its gradient at d = 100?",
    choices={"a": "0", "b": "10", "c": "inf", "d": "nan"},
)

TOTAL = Prediction(
    id="01.e",
    name="TOTAL",
    question="A float16 total starts at 0, and 1 is added ten thousand times. Where does it end?",
    choices={"a": "10000", "b": "2048", "c": "about 9990", "d": "inf"},
)

SKIPPED = Prediction(
    id="01.f",
    name="SKIPPED",
    question="GradScaler starts at 65536, and the largest gradient is 30. How many steps does it "
    "skip before the first step that is taken?",
    choices={"a": "none", "b": "1", "c": "5", "d": "16"},
)

LESSON = Lesson(
    stem="01_floats",
    title="inf or nan, and no idea from where: floats under the microscope",
    minutes=60,
    exercises=(MASKED, K3, UNSEEN, QUIZ, LOGSOFTMAX, SCALER, LIMITS, CHOICES),
    deeper=("01.4", "01.5", "01.1", "01.6"),
    deeper_minutes=39,
    predictions=(HOLDS, STILL, CLIPPED, CLAMPED, TOTAL, SKIPPED),
)
