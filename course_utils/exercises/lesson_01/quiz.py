"""Exercise 01.7: the closing quiz."""

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


def quiz_first(quiz) -> str | None:
    return letter_differs(quiz, "1", "c")


def quiz_second(quiz) -> str | None:
    return letter_differs(quiz, "2", "b")


QUIZ = Exercise(
    id="01.7",
    name="QUIZ",
    title="Next time",
    minutes=2,
    difficulty="two letters",
    points=2,
    reads="quiz",
    expects=(dict,),
    hints=(
        "Question 1: what does the backward pass of exp multiply by, and what does clamp send?",
        "Question 2: compare the update with the gap of bfloat16 at the weight.",
    ),
    criteria=(
        Criterion(
            "Question 1 is answered rightly.",
            quiz_first,
            why="the clamp sends back 0, exp's derivative is inf, and 0 times inf is nan",
            next="read section 5 again: what did the gradient do at its end?",
        ),
        Criterion(
            "Question 2 is answered rightly.",
            quiz_second,
            why="bfloat16 has float32's range; what it gave up is the resolution",
            next="read section 2 again: which weights had moved?",
        ),
    ),
    right=({"1": "c", "2": "b"}, {"1": "C", "2": "B"}),
    wrong=(
        Wrong({"1": "a", "2": "b"}, caught_by=quiz_first),
        Wrong({"1": "b", "2": "b"}, caught_by=quiz_first),
        Wrong({"1": "c", "2": "a"}, caught_by=quiz_second),
        Wrong({"1": "c", "2": "c"}, caught_by=quiz_second),
    ),
)
