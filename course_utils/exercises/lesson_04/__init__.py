"""The exercises of lesson 04: the policy that ends up writing only "!".

One module for each link of the chain: its exercise, its criteria and answer.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_04.beyond import BEYOND
from course_utils.exercises.lesson_04.bound import BOUND
from course_utils.exercises.lesson_04.clipping import CLIP
from course_utils.exercises.lesson_04.fix import FIX
from course_utils.exercises.lesson_04.guard import STEP
from course_utils.exercises.lesson_04.kl import KL
from course_utils.exercises.lesson_04.mean import MEAN
from course_utils.exercises.lesson_04.quiz import QUIZ
from course_utils.exercises.lesson_04.sampler import SAMPLER
from course_utils.exercises.lesson_04.unseen import UNSEEN

FIRST_NAN = Prediction(
    id="04.a",
    name="FIRST_NAN",
    question="The replies are !!!!, kl_loss and old_log_prob are nan. What became nan first?",
    choices={
        "a": "old_log_prob",
        "b": "kl_loss, and the loss with it",
        "c": "a gradient, while the loss was still finite",
        "d": "a logit, beyond the largest number of its format",
    },
)

CURES = Prediction(
    id="04.b",
    name="CURES",
    question="Each fix alone, in the run that breaks. Which one ends the nan gradients?",
    choices={
        "a": "a masked mean that ignores padding",
        "b": "no step on a gradient norm that is nan",
        "c": "a tighter grad_clip",
        "d": "a bound on the log-ratio, before exp",
    },
)

LESSON = Lesson(
    stem="04_verl_collapse",
    title="The policy that says !!!!!!!!",
    minutes=60,
    builds_on=("01",),
    exercises=(SAMPLER, BEYOND, KL, MEAN, CLIP, STEP, FIX, BOUND, UNSEEN, QUIZ),
    predictions=(FIRST_NAN, CURES),
    topic="verl",
    deeper=("04.1", "04.2", "04.4", "04.5", "04.6", "04.8", "04.10"),
    deeper_minutes=109,
)
