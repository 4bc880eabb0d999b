"""Right and wrong answers of exercise 99.1."""

from functools import partial

from course_utils.exercises.lesson_99 import asked, first, tries
from course_utils.exercises.lesson_99.first import GOOD, MEND, TAG
from tests.answers.exam_tries import ALL_LINES, ENDS_AT_ONCE, naming
from tests.answers.forms import exam_answers

right, wrong = exam_answers(first.FIRST)

HOTTER = ("config.yaml", "temperature: 1.0", "temperature: 1.3")
FEWER = ("config.yaml", "max_steps: 16", "max_steps: 8")
LARGER = ("config.yaml", "num_generations: 8", "num_generations: 16")
_named = partial(naming, GOOD)

right(
    {
        "edits": (["rewards.py", f'["content"]{TAG}', '["content"].strip()'],),
        "faults": [("./rewards.py", "line 7", "no_signal")],
    }
)
right(
    {
        "edits": [("rewards.py", ".partition(", ".rpartition(")],
        "faults": [("rewards.py", "the partition in text_of()", "no_signal")],
    }
)
wrong(GOOD | {"edits": []}, caught_by=asked.fits)
wrong(GOOD | {"edits": [("rewards.py", "<thinking>", "")]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [("rewards.py", "text_of(c)", "c")]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [("reward.py", TAG, ".strip()")]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [MEND, FEWER]}, caught_by=asked.keeps_its_size)
wrong(GOOD | {"edits": [MEND, LARGER]}, caught_by=asked.keeps_its_size)
wrong(_named("train.py", "training_config", "no_signal"), caught_by=asked.names_the_places)
wrong(_named("rewards.py", "", "no_signal"), caught_by=asked.names_the_places)
wrong(_named("rewards.py", ALL_LINES, "no_signal"), caught_by=asked.names_the_places)
wrong(_named("rewards.py", "text_of", "reward_hacking"), caught_by=asked.names_the_classes)
wrong(_named("rewards.py", "text_of", "rate"), caught_by=asked.names_the_classes)
wrong(GOOD | {"edits": [HOTTER]}, caught_by=asked.is_healthy)
wrong(GOOD | {"edits": [tries.TWINS_LOG]}, caught_by=asked.is_healthy)
wrong(GOOD | {"edits": [MEND, ENDS_AT_ONCE]}, caught_by=asked.is_healthy)
