"""Exercise 99.2: the ticket of level 2."""

from course_utils.exercises.lesson_99.asked import (
    exercise,
)

JOINED = 'row["question"] + row["{key}"]'
CHATS = [
    ("data.py", JOINED.format(key=key), f'chat(row["question"], row["{key}"])')
    for key in ("chosen", "rejected")
]

GOOD = {"edits": CHATS, "faults": [("data.py", "to_pair", "template")]}


SECOND = exercise(
    "second",
    id="99.2",
    name="SECOND",
    title="The ticket of level 2",
    minutes=20,
    difficulty="one fault, far from where it shows",
    points=6,
    reads="answer_2",
    hints=(
        "Two people disagree about one file. What does each of them give to the model?",
        "Write down, token by token, what the model reads while it is trained and while it serves.",
        "The server is right. Which line makes the training read something else?",
    ),
    answer=GOOD,
)
