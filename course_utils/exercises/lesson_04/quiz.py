"""Exercise 04.9: the closing quiz."""

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


def quiz_first(quiz) -> str | None:
    return letter_differs(quiz, "1", "c")


def quiz_second(quiz) -> str | None:
    return letter_differs(quiz, "2", "b")


QUIZ = Exercise(
    id="04.9",
    name="QUIZ",
    title="Next time",
    minutes=2,
    difficulty="two letters",
    points=2,
    reads="quiz",
    expects=(dict,),
    hints=(
        "Question 1: which number was nan while the loss of the same update was finite?",
        "Question 2: follow the 0 that the mask or the clamp sends back into exp.",
    ),
    criteria=(
        Criterion(
            "Question 1 is answered rightly.",
            quiz_first,
            why="one update later the weights are gone, one rollout later the replies",
            next="look at the table of the last updates in section 5 again",
        ),
        Criterion(
            "Question 2 is answered rightly.",
            quiz_second,
            why="backward multiplies by exp's own result, whatever follows it in the forward pass",
            next="read the values and gradients that section 6 prints again",
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
