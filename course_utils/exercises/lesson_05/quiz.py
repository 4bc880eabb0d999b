"""Exercise 05.7: the closing quiz."""

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


def quiz_first(quiz) -> str | None:
    return letter_differs(quiz, "1", "a")


def quiz_second(quiz) -> str | None:
    return letter_differs(quiz, "2", "c")


QUIZ = Exercise(
    id="05.7",
    name="QUIZ",
    title="Next time",
    minutes=2,
    difficulty="two letters",
    points=2,
    reads="quiz",
    expects=(dict,),
    hints=(
        "Question 1: rewards are computed in the forward pass, before any gradient exists.",
        "Question 2: compare the two columns of the last table: what is the cost of each remedy?",
    ),
    criteria=(
        Criterion(
            "Question 1 is answered rightly.",
            quiz_first,
            why="rewards that are nan at step 1 were made by the forward pass of the given weights",
            next="read section 6 again: what was nan without any training?",
        ),
        Criterion(
            "Question 2 is answered rightly.",
            quiz_second,
            why="a run that is finite after clamping trains another model than the one you loaded",
            next="read the table of section 10 again: which remedies leave the model what it was?",
        ),
    ),
    right=({"1": "a", "2": "c"}, {"1": "A", "2": "C"}),
    wrong=(
        Wrong({"1": "b", "2": "c"}, caught_by=quiz_first),
        Wrong({"1": "c", "2": "c"}, caught_by=quiz_first),
        Wrong({"1": "a", "2": "a"}, caught_by=quiz_second),
        Wrong({"1": "a", "2": "b"}, caught_by=quiz_second),
    ),
)
