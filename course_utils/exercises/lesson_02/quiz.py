"""Exercise 02.6: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "02.6",
    "cb",
    hints=(
        "Question 1: which of the three still exists after a process was killed by a signal?",
        "Question 2: which can trap, a float or an integer? And in which language was it divided?",
    ),
    whys=(
        "a dead process writes no log line; the fault handler writes while it dies",
        "the name is older than IEEE floats; what traps today is an integer division",
    ),
    nexts=(
        "read section 5 again: what was not in the log?",
        "look at the figure of section 8 again",
    ),
)
