"""The exercises of lesson 08: means, counts, micro-batches and ranks.

One module for each thing to understand: its exercises, their criteria and answers.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_08.log import LOG
from course_utils.exercises.lesson_08.mend import MEND
from course_utils.exercises.lesson_08.parts import PARTS
from course_utils.exercises.lesson_08.quiz import QUIZ
from course_utils.exercises.lesson_08.tables import DRIFT, LOOPS, SIGN
from course_utils.exercises.lesson_08.unseen import UNSEEN
from course_utils.exercises.lesson_08.weigh import WEIGH

ALIKE = Prediction(
    id="08.a",
    name="ALIKE",
    question="Sixteen rows in one micro-batch, or one row in each of sixteen. How similar are the "
    "two "
    "gradients of a loss that is the mean over its micro-batch?",
    choices={
        "a": "equal, except for float error",
        "b": "the same direction, another length",
        "c": "another direction",
    },
)

RATE = Prediction(
    id="08.b",
    name="RATE",
    question="A linear schedule of twelve steps, given to accelerator.prepare on two processes. "
    "What is the learning rate after six of the twelve?",
    choices={"a": "half of the first", "b": "0", "c": "equal to the first"},
)

LESSON = Lesson(
    stem="08_batch_loss",
    title="The loss that depends on the batch",
    minutes=60,
    exercises=(PARTS, WEIGH, SIGN, LOOPS, MEND, LOG, DRIFT, UNSEEN, QUIZ),
    predictions=(ALIKE, RATE),
    topic="batch",
    builds_on=("07",),
    deeper=("08.1", "08.2", "08.3", "08.4", "08.6", "08.7"),
    deeper_minutes=109,
)
