"""Exercise 02.6: the closing quiz."""

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


def quiz_first(quiz) -> str | None:
    return letter_differs(quiz, "1", "c")


def quiz_second(quiz) -> str | None:
    return letter_differs(quiz, "2", "b")


QUIZ = Exercise(
    id="02.6",
    name="QUIZ",
    title="Next time",
    minutes=2,
    difficulty="two letters",
    points=2,
    reads="quiz",
    expects=(dict,),
    hints=(
        "Question 1: which of the three still exists after a process was killed by a signal?",
        "Question 2: who can trap, a float or an integer? And in which language was it divided?",
    ),
    criteria=(
        Criterion(
            "Question 1 is answered rightly.",
            quiz_first,
            why="a dead process writes no log line; the fault handler writes while it dies",
            next="read section 5 again: what was not in the log?",
        ),
        Criterion(
            "Question 2 is answered rightly.",
            quiz_second,
            why="the name is older than IEEE floats; what traps today is an integer division",
            next="look at the figure of section 8 again",
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
