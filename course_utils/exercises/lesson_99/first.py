"""Exercise 99.1: the ticket of level 1."""

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

TAG = '.partition("</think>")[2].strip()'
MEND = ("rewards.py", TAG, ".strip()")
FAULT = ("rewards.py", "text_of", "no_signal")
GOOD = {"edits": [MEND], "faults": [FAULT]}
HOTTER = ("config.yaml", "temperature: 1.0", "temperature: 1.3")
FEWER = ("config.yaml", "max_steps: 16", "max_steps: 8")
LARGER = ("config.yaml", "num_generations: 8", "num_generations: 16")
_named = partial(tries.naming, GOOD)


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
        "What is left of a right reply when the comparison sees it?",
    ),
    right=(
        GOOD,
        {
            "edits": (["rewards.py", f'["content"]{TAG}', '["content"].strip()'],),
            "faults": [("./rewards.py", "line 7", "no_signal")],
        },
        {
            "edits": [("rewards.py", ".partition(", ".rpartition(")],
            "faults": [("rewards.py", "the partition in text_of()", "no_signal")],
        },
    ),
    wrong=(
        Wrong(GOOD | {"edits": []}, caught_by=fits),
        Wrong(GOOD | {"edits": [("rewards.py", "<thinking>", "")]}, caught_by=fits),
        Wrong(GOOD | {"edits": [("rewards.py", "text_of(c)", "c")]}, caught_by=fits),
        Wrong(GOOD | {"edits": [("reward.py", TAG, ".strip()")]}, caught_by=fits),
        Wrong(GOOD | {"edits": [MEND, FEWER]}, caught_by=keeps_its_size),
        Wrong(GOOD | {"edits": [MEND, LARGER]}, caught_by=keeps_its_size),
        Wrong(_named("train.py", "training_config", "no_signal"), caught_by=names_the_places),
        Wrong(_named("rewards.py", "", "no_signal"), caught_by=names_the_places),
        Wrong(_named("rewards.py", tries.ALL_LINES, "no_signal"), caught_by=names_the_places),
        Wrong(_named("rewards.py", "text_of", "reward_hacking"), caught_by=names_the_classes),
        Wrong(_named("rewards.py", "text_of", "rate"), caught_by=names_the_classes),
        Wrong(GOOD | {"edits": [HOTTER]}, caught_by=is_healthy),
        Wrong(GOOD | {"edits": [tries.TWINS_LOG]}, caught_by=is_healthy),
        Wrong(GOOD | {"edits": [MEND, tries.ENDS_AT_ONCE]}, caught_by=is_healthy),
    ),
)
