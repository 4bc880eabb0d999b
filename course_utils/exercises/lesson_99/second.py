"""Exercise 99.2: the ticket of level 2."""

from functools import partial

from course_utils.checks.declare import Wrong
from course_utils.exercises.lesson_99 import tries
from course_utils.exercises.lesson_99.asked import (
    exercise,
    fits,
    is_healthy,
    keeps_its_size,
    names_the_classes,
    names_the_places,
)

JOINED = 'row["question"] + row["{key}"]'
CHATS = [
    ("data.py", JOINED.format(key=key), f'chat(row["question"], row["{key}"])')
    for key in ("chosen", "rejected")
]
INLINE = (
    '[{{"role": "user", "content": row["question"]}}, {{"role": "assistant", "content": {of}}}]'
)
GOOD = {"edits": CHATS, "faults": [("data.py", "to_pair", "template")]}
SLOWER = ("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 1.0e-4")
FEWER = ("config.yaml", "max_steps: 40", "max_steps: 20")
SMALLER = ("config.yaml", "batch_size: 16", "batch_size: 4")
_named = partial(tries.naming, GOOD)


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
        "Two people disagree about one file. What is it that each of them puts into it?",
        "Write down, token by token, what the model reads while it is trained and while it serves.",
        "The server does what servers do. Which line makes the training see something else?",
    ),
    right=(
        GOOD,
        {
            "edits": [
                (file, f'"{key}": {old}', f'"{key}": {new}')
                for key, (file, old, new) in zip(("chosen", "rejected"), CHATS, strict=True)
            ],
            "faults": [("data.py", "23", "template")],
        },
        {
            "edits": [(file, old, INLINE.format(of=old.split(" + ")[1])) for file, old, _ in CHATS],
            "faults": [("data.py", "chosen and rejected", "template")],
        },
    ),
    wrong=(
        Wrong(GOOD | {"edits": []}, caught_by=fits),
        Wrong(GOOD | {"edits": [("data.py", 'row["question"] +', "")]}, caught_by=fits),
        Wrong(GOOD | {"edits": [*CHATS, CHATS[0]]}, caught_by=fits),
        Wrong(GOOD | {"edits": [*CHATS, FEWER]}, caught_by=keeps_its_size),
        Wrong(GOOD | {"edits": [*CHATS, SMALLER]}, caught_by=keeps_its_size),
        Wrong(_named("train.py", "export", "template"), caught_by=names_the_places),
        Wrong(_named("data.py", "read_jsonl", "template"), caught_by=names_the_places),
        Wrong(_named("data.py", "to_pair", "pooling"), caught_by=names_the_classes),
        Wrong(_named("data.py", "to_pair", "padding_side"), caught_by=names_the_classes),
        Wrong(GOOD | {"edits": [SLOWER]}, caught_by=is_healthy),
        Wrong(GOOD | {"edits": CHATS[:1]}, caught_by=is_healthy),
        Wrong(GOOD | {"edits": [tries.TWINS_LOG]}, caught_by=is_healthy),
    ),
)
