"""The exercises of lesson 09: the two log-probs of a token, the sampler's and the trainer's.

One module for each exercise: its criteria and answer. `runs` is what a mended run has to show.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_09.join import JOIN
from course_utils.exercises.lesson_09.kl import KL
from course_utils.exercises.lesson_09.loss import LOSS
from course_utils.exercises.lesson_09.mend import MEND
from course_utils.exercises.lesson_09.quiz import QUIZ
from course_utils.exercises.lesson_09.score import SCORE
from course_utils.exercises.lesson_09.sync import SYNC
from course_utils.exercises.lesson_09.unseen import UNSEEN
from course_utils.exercises.lesson_09.weigh import WEIGH
from course_utils.exercises.lesson_09.which import WHICH

WORST = Prediction(
    id="09.a",
    name="WORST",
    question="Which of five runs ends lowest, in the mean of ten seeds?",
    choices={
        "a": "the engine computes in bfloat16, the trainer in float32",
        "b": "the engine samples at temperature 2, the trainer scores at 1",
        "c": "the engine samples at temperature 0.6, the trainer scores at 1",
        "d": "the engine never gets the trained weights",
        "e": "the trainer scores after a system prompt that the engine did not see",
    },
)

LESSON = Lesson(
    stem="09_two_logprobs",
    title="Two log-probs for one token",
    minutes=60,
    exercises=(SCORE, WHICH, WEIGH, LOSS, KL, JOIN, SYNC, MEND, UNSEEN, QUIZ),
    predictions=(WORST,),
    topic="logp",
    builds_on=("04",),
    deeper=("09.1", "09.10", "09.3", "09.4", "09.5", "09.6", "09.7"),
    deeper_minutes=132,
)
