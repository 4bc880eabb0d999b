"""The exercises of lesson 02: the GRPO run that ends with "Floating point exception".

One module for each exercise: its criteria and answer.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_02.division import DIVISION
from course_utils.exercises.lesson_02.ending import ENDING
from course_utils.exercises.lesson_02.hang import HANG
from course_utils.exercises.lesson_02.machines import MACHINES
from course_utils.exercises.lesson_02.quiz import QUIZ
from course_utils.exercises.lesson_02.refute import REFUTE
from course_utils.exercises.lesson_02.search import SEARCH
from course_utils.exercises.lesson_02.unseen import UNSEEN

WHICH_SETTING = Prediction(
    id="02.a",
    name="WHICH_SETTING",
    question="Eleven settings differ. Without which of them does the run live?",
    choices={
        "a": "gradient_accumulation_steps",
        "b": "learning_rate, with its warmup and schedule",
        "c": "max_grad_norm",
        "d": "bf16",
        "e": "several of them together",
    },
)

WHAT_KILLS = Prediction(
    id="02.b",
    name="WHAT_KILLS",
    question="Which of these ends a process with SIGFPE, with the processor set up as usual?",
    choices={
        "a": "0.0 / 0.0 in float32",
        "b": "60000 + 60000 in float16",
        "c": "1 // 0 of two torch integers",
        "d": "1 / 0 of two C integers",
        "e": "all of them",
    },
)

LESSON = Lesson(
    stem="02_grpo_sigfpe",
    title="Floating point exception (core dumped)",
    minutes=60,
    exercises=(ENDING, DIVISION, QUIZ, HANG, SEARCH, REFUTE, MACHINES, UNSEEN),
    deeper=("02.7", "02.2", "02.3", "02.5", "02.8"),
    deeper_minutes=91,
    predictions=(WHICH_SETTING, WHAT_KILLS),
    topic="sigfpe",
)
