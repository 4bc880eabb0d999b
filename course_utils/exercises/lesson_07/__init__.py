"""The exercises of lesson 07: batches, labels and the end of a reply.

One module for each thing to understand: its exercises, their criteria and answers.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_07.collate import COLLATE
from course_utils.exercises.lesson_07.ends import ENDS
from course_utils.exercises.lesson_07.pack import PACK
from course_utils.exercises.lesson_07.pool import POOL
from course_utils.exercises.lesson_07.quiz import QUIZ
from course_utils.exercises.lesson_07.read import EMPTY, READ
from course_utils.exercises.lesson_07.template import TEMPLATE
from course_utils.exercises.lesson_07.unseen import UNSEEN

WHICH_LOSS = Prediction(
    id="07.a",
    name="WHICH_LOSS",
    question="One of the two runs will never stop. Whose loss is lower on average?",
    choices={
        "a": "that of the run which learns to stop",
        "b": "that of the run which never stops",
        "c": "neither: the losses are equal",
    },
)

INSTRUCT = Prediction(
    id="07.b",
    name="INSTRUCT",
    question="The same fault on a model that already stops, 60 steps. How many greedy replies "
    "stop?",
    choices={"a": "none", "b": "about half", "c": "nearly all"},
)

LESSON = Lesson(
    stem="07_never_stops",
    title="It generates until max_new_tokens",
    minutes=60,
    exercises=(READ, ENDS, COLLATE, EMPTY, TEMPLATE, PACK, POOL, UNSEEN, QUIZ),
    predictions=(WHICH_LOSS, INSTRUCT),
    topic="stop",
    deeper=("07.2", "07.4", "07.5", "07.6", "07.7"),
    deeper_minutes=74,
)
