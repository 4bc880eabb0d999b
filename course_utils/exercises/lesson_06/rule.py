"""Exercise 06.3: error, silence or training, from four facts about a run."""

from collections.abc import Callable
from functools import cache
from itertools import product

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_06.gradients import backward_fails, known_warnings_ignored
from course_utils.reproductions.lesson_06.small_models import seeded

FACTS = ("base_frozen", "reentrant", "inputs_marked", "head_trained")


@cache
def outcome_by_running(
    base_frozen: bool, reentrant: bool, inputs_marked: bool, head_trained: bool
) -> str:
    """The outcome, from one backward pass of an embedding, a checkpointed block and a head."""
    embedding, block, head = seeded(
        lambda: (nn.Embedding(10, 4), nn.Linear(4, 4), nn.Linear(4, 1, bias=False))
    )
    adapter = nn.Parameter(torch.ones(4, 4))
    block.requires_grad_(not base_frozen)
    embedding.requires_grad_(not base_frozen)
    head.requires_grad_(head_trained)
    hidden = embedding(torch.arange(3))
    if inputs_marked:
        hidden.requires_grad_()

    def adapted(hidden):
        return block(hidden) + hidden @ adapter

    with known_warnings_ignored():
        loss = head(checkpoint(adapted, hidden, use_reentrant=reentrant)).sum()
    if backward_fails(loss):
        return "error"
    return "silent" if adapter.grad is None else "trains"


WORDS = ("trains", "error", "silent")


def says_one_of_three_words(outcome) -> str | None:
    got = outcome(True, False, False, False)
    if isinstance(got, str) and got in WORDS:
        return None
    return f"it returns {got!r}, where one of {', '.join(map(repr, WORDS))} is needed"


def _first_difference(outcome, which: str) -> str | None:
    for facts in product((True, False), repeat=len(FACTS)):
        want = outcome_by_running(*facts)
        if want != which:
            continue
        got = outcome(*facts)
        if got != want:
            given = ", ".join(f"{name}={fact}" for name, fact in zip(FACTS, facts, strict=True))
            return f"for {given} it gives {got!r}; a run with these facts gives {want!r}"
    return None


def knows_what_trains(outcome) -> str | None:
    return _first_difference(outcome, "trains")


def knows_the_error(outcome) -> str | None:
    return _first_difference(outcome, "error")


def knows_the_silence(outcome) -> str | None:
    return _first_difference(outcome, "silent")


def outcome_by_rule(base_frozen, reentrant, inputs_marked, head_trained):
    if not (base_frozen and reentrant) or inputs_marked:
        return "trains"
    return "silent" if head_trained else "error"


RULE = Exercise(
    id="06.3",
    name="RULE",
    title="Error, silent or training",
    minutes=4,
    difficulty="a few lines",
    points=3,
    reads="outcome",
    expects=(Callable,),
    hints=(
        "When is the graph cut? Three of the four facts decide that.",
        "Once it is cut: does anything above the cut still give the loss a grad_fn?",
        "Name the one combination of base_frozen, reentrant and inputs_marked that cuts. Only "
        "there does head_trained matter: with it the loss has a grad_fn, without it none.",
    ),
    form=says_one_of_three_words,
    criteria=(
        Criterion(
            "It knows every combination that trains.",
            knows_what_trains,
            why="checkpointing and frozen bases are both fine; only together can they cut",
            next="find the one combination of three facts that cuts the graph",
        ),
        Criterion(
            "It knows every combination that raises.",
            knows_the_error,
            why="the error needs a loss with no trainable weight behind it",
            next="think of the run in section 6",
        ),
        Criterion(
            "It knows every combination that trains only the head, without an error.",
            knows_the_silence,
            why="a head above the cut gives the loss its grad_fn back, and hides the cut",
            next="think of the runs in section 10",
        ),
    ),
    answer=outcome_by_rule,
)
