"""Exercise 03.7: the closing quiz."""

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


def quiz_first(quiz) -> str | None:
    return letter_differs(quiz, "1", "b")


def quiz_second(quiz) -> str | None:
    return letter_differs(quiz, "2", "c")


QUIZ = Exercise(
    id="03.7",
    name="QUIZ",
    title="Next time",
    minutes=2,
    difficulty="two letters",
    points=2,
    reads="quiz",
    expects=(dict,),
    hints=(
        "Question 1: which of the three comes before the others in the chain you followed?",
        "Question 2: think of the spacing of bfloat16 at 0.02, and of a step of 1e-5.",
    ),
    criteria=(
        Criterion(
            "Question 1 is answered rightly.",
            quiz_first,
            why="the log line comes last in the chain, the weights first",
            next="read section 5 again: what was dead before anything was logged?",
        ),
        Criterion(
            "Question 2 is answered rightly.",
            quiz_second,
            why="range saves you from inf, precision from standing still; bfloat16 has only range",
            next="read the column `head moved` of the table in section 10 again",
        ),
    ),
    right=({"1": "b", "2": "c"}, {"1": "B", "2": "C"}),
    wrong=(
        Wrong({"1": "a", "2": "c"}, caught_by=quiz_first),
        Wrong({"1": "c", "2": "c"}, caught_by=quiz_first),
        Wrong({"1": "b", "2": "a"}, caught_by=quiz_second),
        Wrong({"1": "b", "2": "b"}, caught_by=quiz_second),
    ),
)
