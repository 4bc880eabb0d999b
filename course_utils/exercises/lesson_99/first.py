"""Exercise 99.1: the ticket of level 1."""

from course_utils.exercises.lesson_99.asked import (
    exercise,
)

TAG = '.partition("</think>")[2].strip()'
MEND = ("rewards.py", TAG, ".strip()")
FAULT = ("rewards.py", "text_of", "no_signal")
GOOD = {"edits": [MEND], "faults": [FAULT]}


FIRST = exercise(
    "first",
    id="99.1",
    name="FIRST",
    title="The ticket of level 1",
    minutes=15,
    difficulty="one fault, in the open",
    points=4,
    reads="answer_1",
    hints=(
        "Which number of the log never moves, and which function makes it?",
        "Call that function by hand, on a right reply as this model writes it, step by step.",
        "What is left of a right reply when it is compared?",
    ),
    answer=GOOD,
)
