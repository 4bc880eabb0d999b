"""The exercises of lesson 99, the exam: three tickets, and predictions about a worked one.

`asked` holds what is asked of each ticket; a module each holds its answer.
"""

from course_utils.checks.declare import Lesson, Prediction
from course_utils.exercises.lesson_99.first import FIRST
from course_utils.exercises.lesson_99.second import SECOND
from course_utils.exercises.lesson_99.third import THIRD

WHERE_IT_LIES = Prediction(
    id="99.a",
    name="WHERE_IT_LIES",
    question="Four slots, each with a falling loss, and a weak model. Where is the fault?",
    choices={
        "a": "in the rows: those of the later slots are harder",
        "b": "in the settings: too few steps, or too low a learning rate",
        "c": "between two slots",
        "d": "in the export: a good model is saved wrongly",
    },
)

IS_IT_FIXED = Prediction(
    id="99.b",
    name="IS_IT_FIXED",
    question="With one leg instead of four the run trains to its end. Will the check accept it?",
    choices={
        "a": "yes: the model is healthy",
        "b": "no: the model is still weak",
        "c": "no: it is not the same run any more",
    },
)

LESSON = Lesson(
    stem="99_on_call",
    title="On call",
    minutes=60,
    exercises=(FIRST, SECOND, THIRD),
    predictions=(WHERE_IT_LIES, IS_IT_FIXED),
    builds_on=("04",),
    deeper=("99.3",),
    deeper_minutes=40,
)
