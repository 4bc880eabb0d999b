"""The exercises of lesson 10: rewards that rise while nothing gets better.

One module for each exercise: its criteria and answer. `verifier` judges what a right reply is.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_10.alive import ALIVE
from course_utils.exercises.lesson_10.cheat import CHEAT
from course_utils.exercises.lesson_10.dashboard import DASHBOARD
from course_utils.exercises.lesson_10.guard import GUARD
from course_utils.exercises.lesson_10.harden import HARDEN
from course_utils.exercises.lesson_10.mend import MEND
from course_utils.exercises.lesson_10.quiz import QUIZ
from course_utils.exercises.lesson_10.trick import TRICK
from course_utils.exercises.lesson_10.unseen import UNSEEN

WHICH_RUN = Prediction(
    id="10.a",
    name="WHICH_RUN",
    question="Which of the two policies adds better after the training than before?",
    choices={
        "a": "that of run A",
        "b": "that of run B",
        "c": "both",
        "d": "neither",
    },
)

CONSTANT = Prediction(
    id="10.b",
    name="CONSTANT",
    question="Every reply earns 0.35, right or wrong, for some steps. What happens to the weights?",
    choices={
        "a": "nothing: every advantage is 0",
        "b": "they move by some 1e-4 of a usual step",
        "c": "they move about as far as with a real reward",
    },
)

LESSON = Lesson(
    stem="10_reward_up",
    title="The reward goes up and nothing gets better",
    minutes=60,
    exercises=(CHEAT, TRICK, HARDEN, ALIVE, GUARD, MEND, DASHBOARD, UNSEEN, QUIZ),
    predictions=(WHICH_RUN, CONSTANT),
    topic="rise",
    builds_on=("04",),
    deeper=("10.2", "10.3", "10.4", "10.5", "10.7", "10.9"),
    deeper_minutes=142,
)
