"""The exercises of lesson 11: the model that is served is not the one that was trained.

One module for each exercise: its criteria and answer.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_11.experts import EXPERTS
from course_utils.exercises.lesson_11.grid import GRID
from course_utils.exercises.lesson_11.head import HEAD
from course_utils.exercises.lesson_11.keys import KEYS
from course_utils.exercises.lesson_11.quiz import QUIZ
from course_utils.exercises.lesson_11.scale import SCALE
from course_utils.exercises.lesson_11.unseen import UNSEEN

HOW_MANY = Prediction(
    id="11.a",
    name="HOW_MANY",
    question="How many of the four served models answer more than half of the held-out sums right?",
    choices={"a": "all four", "b": "three", "c": "one or two", "d": "none"},
)

LESSON = Lesson(
    stem="11_served_not_trained",
    title="The model you served is not the one you trained",
    minutes=60,
    exercises=(HEAD, UNSEEN, QUIZ, GRID, EXPERTS, SCALE, KEYS),
    predictions=(HOW_MANY,),
    topic="adapter",
    builds_on=("07",),
    deeper=("11.4", "11.5", "11.6", "11.7"),
    deeper_minutes=58,
)
