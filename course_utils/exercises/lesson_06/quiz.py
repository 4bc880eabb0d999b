"""Exercise 06.11: the closing quiz."""

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


def quiz_first(quiz) -> str | None:
    return letter_differs(quiz, "1", "c")


def quiz_second(quiz) -> str | None:
    return letter_differs(quiz, "2", "a")


QUIZ = Exercise(
    id="06.11",
    name="QUIZ",
    title="Next time",
    minutes=1,
    difficulty="two letters",
    points=2,
    reads="quiz",
    expects=(dict,),
    hints=(
        "Question 1: what did the log of the silent run look like, line by line?",
        "Question 2: what became of every wrong answer that put a mark on the loss?",
    ),
    criteria=(
        Criterion(
            "Question 1 is answered rightly.",
            quiz_first,
            why="loss, grad_norm and requires_grad all look healthy in the silent run",
            next="read the last table of section 11 again: which column told the runs apart?",
        ),
        Criterion(
            "Question 2 is answered rightly.",
            quiz_second,
            why="a mark on the loss makes it the only leaf of its graph",
            next="call loss.requires_grad_() in section 4 and look at block.weight.grad",
        ),
    ),
    right=({"1": "c", "2": "a"}, {"1": "C", "2": "A"}),
    wrong=(
        Wrong({"1": "a", "2": "a"}, caught_by=quiz_first),
        Wrong({"1": "b", "2": "a"}, caught_by=quiz_first),
        Wrong({"1": "c", "2": "b"}, caught_by=quiz_second),
        Wrong({"1": "c", "2": "c"}, caught_by=quiz_second),
    ),
)
