"""Exercise 99.3: the ticket of level 3, three faults of which each hides the next."""

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

OWN_WEIGHTS = ("train.py", "reference = copy.copy(model)", "reference = copy.deepcopy(model)")
LOADED = ("train.py", "reference = copy.copy(model)", 'reference = load_model("base")')
SWAPPED = (
    '"rejected": assistant(row["chosen"])',
    '"chosen": assistant(row["rejected"])',
)
PLACES_BACK = (
    "data.py",
    f"{SWAPPED[0]},\n        {SWAPPED[1]},",
    '"chosen": assistant(row["chosen"]),\n        "rejected": assistant(row["rejected"]),',
)
EXPORTED = ("train.py", "trainer.ref_model, trainer", "trainer.model, trainer")
MENDS = [OWN_WEIGHTS, PLACES_BACK, EXPORTED]
FAULTS = [
    ("train.py", "load_reference", "no_grad"),
    ("data.py", "to_pair", "preference"),
    ("train.py", "export", "stale_weights"),
]
GOOD = {"edits": MENDS, "faults": FAULTS}
FEWER = ("config.yaml", "max_steps: 24", "max_steps: 12")


def _but(at: int, *fault: str) -> dict:
    return GOOD | {"faults": [*FAULTS[:at], fault, *FAULTS[at + 1 :]]}


def _without(at: int, *more: tuple[str, str, str]) -> dict:
    return GOOD | {"edits": [*MENDS[:at], *MENDS[at + 1 :], *more]}


THIRD = exercise(
    "third",
    id="99.3",
    name="THIRD",
    title="The ticket of level 3",
    minutes=40,
    difficulty="three faults, one behind the other",
    points=10,
    reads="answer_3",
    hints=(
        "Mend what stops it, and nothing else. Then the run is a new ticket: read its log.",
        "Hold what the log says is learned against what the replies say, on the same questions.",
        "When the log is good and the files are not, ask which object was written into them.",
    ),
    right=(
        GOOD,
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
        },
        {"edits": [LOADED, PLACES_BACK, EXPORTED], "faults": FAULTS[::-1]},
    ),
    wrong=(
        Wrong(GOOD | {"edits": []}, caught_by=fits),
        Wrong(GOOD | {"edits": [*MENDS, EXPORTED]}, caught_by=fits),
        Wrong(GOOD | {"edits": [("train.py", "model", "policy")]}, caught_by=fits),
        Wrong(GOOD | {"edits": [*MENDS, FEWER]}, caught_by=keeps_its_size),
        Wrong(GOOD | {"faults": [FAULTS[0]] * 3}, caught_by=names_the_places),
        Wrong(_but(1, "data.py", "load_pairs", "preference"), caught_by=names_the_places),
        Wrong(_but(2, "config.yaml", "beta", "stale_weights"), caught_by=names_the_places),
        Wrong(_but(0, "train.py", "load_reference", "memory"), caught_by=names_the_classes),
        Wrong(_but(2, "train.py", "export", "adapter"), caught_by=names_the_classes),
        Wrong(_without(0), caught_by=is_healthy),
        Wrong(_without(1), caught_by=is_healthy),
        Wrong(_without(2), caught_by=is_healthy),
        Wrong(GOOD | {"edits": [tries.CATCH]}, caught_by=is_healthy),
        Wrong(_without(0, tries.TWINS_LOG), caught_by=is_healthy),
    ),
)
