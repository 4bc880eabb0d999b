"""How each exercise is judged: outside on data, outside by proxy, or inside the box, and why.

Data and proxies follow from what an exercise asks; only what must run inside is listed.
"""

from collections.abc import Callable

from course_utils.checks.declare import Exercise

DATA, PROXY, INSIDE = "outside: data", "outside: proxy", "inside"

# The verdict on these is made in one process with the student's code, which could forge it.
MUST_RUN_INSIDE = {
    "05.4": "its hooks and new forwards work within a model that the criteria hook as well",
    "05.8": "its mend changes a live Trainer, which then trains",
    "07.8": "its parts of a script take a tokenizer and live models",
    "08.5": "its Trainer steps through a live model, rank after rank",
    "08.8": "its parts of a loop leave gradients in live models",
    "09.7": "it writes into a live engine, from a live policy with an adapter",
    "09.9": "its parts of a script take live models",
    "11.1": "it merges a live model with an adapter",
    "11.2": "its parts of a server take and return live models and tensors",
    "06.12": "its part of a run takes live models, and may return an optimizer",
}

# Judged outside, but criteria ask the student's own process what it ran or kept, and it could lie.
BELIEVED = {
    "01.4": "which operations its function ran",
    "06.1": "which tensors its graph kept, and how often its block was called",
}


def how(exercise: Exercise) -> str:
    """How `exercise` is judged, according to the table.

    >>> from course_utils.exercises import find_exercise
    >>> how(find_exercise("00.1"))
    'outside: proxy'
    """
    if exercise.id in MUST_RUN_INSIDE:
        return f"{INSIDE}: {MUST_RUN_INSIDE[exercise.id]}"
    return PROXY if Callable in exercise.expects or _holds_functions(exercise) else DATA


def _holds_functions(exercise: Exercise) -> bool:
    answer = exercise.answer
    return isinstance(answer, dict) and any(map(callable, answer.values()))
