"""Right and wrong answers of exercise 99.2."""

from functools import partial

from course_utils.exercises.lesson_99 import asked, second, tries
from course_utils.exercises.lesson_99.second import CHATS, GOOD
from tests.answers.exam_tries import naming
from tests.answers.forms import exam_answers

right, wrong = exam_answers(second.SECOND)

INLINE = (
    '[{{"role": "user", "content": row["question"]}}, {{"role": "assistant", "content": {of}}}]'
)
SLOWER = ("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 1.0e-4")
FEWER = ("config.yaml", "max_steps: 40", "max_steps: 20")
SMALLER = ("config.yaml", "batch_size: 16", "batch_size: 4")
_named = partial(naming, GOOD)

right(
    {
        "edits": [
            (file, f'"{key}": {old}', f'"{key}": {new}')
            for key, (file, old, new) in zip(("chosen", "rejected"), CHATS, strict=True)
        ],
        "faults": [("data.py", "23", "template")],
    }
)
right(
    {
        "edits": [(file, old, INLINE.format(of=old.split(" + ")[1])) for file, old, _ in CHATS],
        "faults": [("data.py", "chosen and rejected", "template")],
    }
)
wrong(GOOD | {"edits": []}, caught_by=asked.fits)
wrong(GOOD | {"edits": [("data.py", 'row["question"] +', "")]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [*CHATS, CHATS[0]]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [*CHATS, FEWER]}, caught_by=asked.keeps_its_size)
wrong(GOOD | {"edits": [*CHATS, SMALLER]}, caught_by=asked.keeps_its_size)
wrong(_named("train.py", "export", "template"), caught_by=asked.names_the_places)
wrong(_named("data.py", "read_jsonl", "template"), caught_by=asked.names_the_places)
wrong(_named("data.py", "to_pair", "pooling"), caught_by=asked.names_the_classes)
wrong(_named("data.py", "to_pair", "padding_side"), caught_by=asked.names_the_classes)
wrong(GOOD | {"edits": [SLOWER]}, caught_by=asked.is_healthy)
wrong(GOOD | {"edits": CHATS[:1]}, caught_by=asked.is_healthy)
wrong(GOOD | {"edits": [tries.TWINS_LOG]}, caught_by=asked.is_healthy)
