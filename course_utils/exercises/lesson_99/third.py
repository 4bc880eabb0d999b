"""Exercise 99.3: the ticket of level 3, three faults, each of which hides the next."""

from course_utils.exercises.lesson_99.asked import (
    exercise,
)

OWN_WEIGHTS = ("train.py", "reference = copy.copy(model)", "reference = copy.deepcopy(model)")

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
        "Fix what stops it, and nothing else. Then the run is a new ticket: read its log.",
        "Compare what the log says is learned with the replies, on the same questions.",
        "When the log is good and the saved files are not, ask which object was saved.",
    ),
    answer=GOOD,
)
