"""Right and wrong answers of exercise 99.3."""

from course_utils.exercises.lesson_99 import asked, third, tries
from course_utils.exercises.lesson_99.third import (
    EXPORTED,
    FAULTS,
    GOOD,
    MENDS,
    PLACES_BACK,
    SWAPPED,
)
from tests.answers.exam_tries import CATCH
from tests.answers.forms import exam_answers

right, wrong = exam_answers(third.THIRD)

LOADED = ("train.py", "reference = copy.copy(model)", 'reference = load_model("base")')
FEWER = ("config.yaml", "max_steps: 24", "max_steps: 12")


def _but(at: int, *fault: str) -> dict:
    return GOOD | {"faults": [*FAULTS[:at], fault, *FAULTS[at + 1 :]]}


def _without(at: int, *more: tuple[str, str, str]) -> dict:
    return GOOD | {"edits": [*MENDS[:at], *MENDS[at + 1 :], *more]}


right(
    {
        "edits": [
            ("data.py", SWAPPED[0], '"chosen": assistant(row["chosen"])'),
            ("data.py", SWAPPED[1], '"rejected": assistant(row["rejected"])'),
            ("train.py", "copy.copy(", "copy.deepcopy("),
            ("train.py", "= trainer.ref_model,", "= trainer.model,"),
        ],
        "faults": [
            ("train.py", "line 77", "stale_weights"),
            ("train.py", "reference = copy.copy(model)", "no_grad"),
            ("data.py", "chosen, rejected", "preference"),
        ],
    }
)
right({"edits": [LOADED, PLACES_BACK, EXPORTED], "faults": FAULTS[::-1]})
wrong(GOOD | {"edits": []}, caught_by=asked.fits)
wrong(GOOD | {"edits": [*MENDS, EXPORTED]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [("train.py", "model", "policy")]}, caught_by=asked.fits)
wrong(GOOD | {"edits": [*MENDS, FEWER]}, caught_by=asked.keeps_its_size)
wrong(GOOD | {"faults": [FAULTS[0]] * 3}, caught_by=asked.names_the_places)
wrong(_but(1, "data.py", "load_pairs", "preference"), caught_by=asked.names_the_places)
wrong(_but(2, "config.yaml", "beta", "stale_weights"), caught_by=asked.names_the_places)
wrong(_but(0, "train.py", "load_reference", "memory"), caught_by=asked.names_the_classes)
wrong(_but(2, "train.py", "export", "adapter"), caught_by=asked.names_the_classes)
wrong(_without(0), caught_by=asked.is_healthy)
wrong(_without(1), caught_by=asked.is_healthy)
wrong(_without(2), caught_by=asked.is_healthy)
wrong(GOOD | {"edits": [CATCH]}, caught_by=asked.is_healthy)
wrong(_without(0, tries.TWINS_LOG), caught_by=asked.is_healthy)
