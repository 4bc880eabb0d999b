"""Exercise 04.10: a run the lesson has not shown; three variants, one sick term each."""

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from course_utils.checks.broken_script import Asked
from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_04.unseen_looks import (
    HEALTHY,
    Tried,
    WithAlarm,
    alarm_names_the_replies,
    gradient_is_unchanged,
    names_the_cause,
    names_the_place,
    trained_it_lives,
    value_is_unchanged,
)
from course_utils.reproductions.lesson_04 import unseen_04
from course_utils.reproductions.lesson_04.unseen_04 import Ticket

CAUSES = {
    "a": "the gradient grows from update to update until its norm leaves the format",
    "b": "a logit leaves the range of its format in the forward pass",
    "c": "exp overflows at padding; the operations after it hide the value, not the gradient",
    "d": "0 times -inf; a mask after the product hides the value, not the gradient",
    "e": "0 divided by 0; a choice after the division hides the value, not the gradient",
    "f": "all scores of a group are equal, and the advantage divides by their spread of 0",
}

ASKED = Asked(
    id="04.10",
    minutes=17,
    difficulty="a diagnosis, an alarm and a few lines",
    points=6,
    hints=(
        "Which number of the log is the first to be nan, and in which update?",
        "Train a fresh run up to the update before it and trace the next rollout, with "
        "loss_of=run.loss. In which of the three functions does the line stand?",
        "The backward pass starts at the end of that line: the last operation sends back a 0. "
        "By what does the operation before it multiply that 0? Change what goes into it.",
        "For the alarm: which replies take that operation out of its range? Or let autograd say "
        "it: which rows of the gradient at the first argument of the term hold a nan?",
    ),
    diagnosis=(
        Criterion(
            "It names the term in which the nan is made.",
            names_the_place,
            why="a change elsewhere leaves the nan where it is",
            next="trace the first bad update, and see in which function the line stands",
        ),
        Criterion(
            "It names the cause.",
            names_the_cause,
            why="the same nan has several causes, and each asks for another change",
            next="compare each letter with the operation that the trace names",
        ),
    ),
    mended=(
        Criterion(
            "The alarm names the replies to which the term gives a nan gradient, and no others.",
            alarm_names_the_replies,
            why="the trace names a line after the fact; with an alarm you drop a few replies and "
            "keep the update",
            next="call the term of the ticket on the arguments of one rollout, take its gradient, "
            "and compare its rows with what the alarm names",
        ),
        Criterion(
            "Trained with the fix, on three seeds, no gradient is nan and the reward rises.",
            trained_it_lives,
            why="as reported, the run dies on each of these seeds",
            next="with a nan: look at the fix's gradient where a reply has ended. If only the "
            "reward stays low: compare value and gradient with the term's at ordinary tokens",
        ),
        Criterion(
            "The term keeps the value it had.",
            value_is_unchanged,
            why="the value was right all along; another value is another loss",
            next="compare both functions on a rollout of the run",
        ),
        Criterion(
            "Its gradient is what it was where that was finite, and 0 where it was nan.",
            gradient_is_unchanged,
            why="a term without its own gradient trains nothing, or something else",
            next="compare both gradients at ordinary tokens, and where a reply has ended",
        ),
    ),
    tried=Tried,
    time_limit_s=60.0,
)


def ratio_bounded_before_exp(logp, engine_logp, advantages, mask):
    log_ratio = (logp - engine_logp).clamp(max=math.log(2))
    return -log_ratio.exp() * advantages * mask


def entropy_with_zeros_before_the_product(logits, allowed):
    logp = torch.log_softmax(logits.masked_fill(~allowed, -math.inf), dim=-1)
    return -(logp.exp() * logp.masked_fill(~allowed, 0.0)).sum(-1)


def mean_by_at_least_one(logp, ref_logp, digits):
    total = (0.5 * (logp - ref_logp).square() * digits).sum(1)
    return total / torch.clamp(digits.sum(1), min=1.0)


def has_a_far_ratio(logp, engine_logp, advantages, mask):
    return (logp - engine_logp).exp().isinf().any(1)


def forbids_a_token(logits, allowed):
    return (~allowed).flatten(1).any(1)


def has_no_digit(logp, ref_logp, digits):
    return digits.sum(1) == 0


def _on(
    *,
    number: int,
    place: str,
    cause: str,
    sick: Callable,
    seed: int,
    alarm: Callable,
    mend: Callable,
) -> Exercise:
    """The exercise on the run of `seed` in which the term `sick` stands at `place`."""
    ticket = Ticket(seed, HEALTHY | {place: sick}, CAUSES)
    variant = WithAlarm(ticket, place, cause, alarm)
    return ASKED.on(variant, f"A run you have not seen, number {number}", mend=mend)


# The first is not the failure of the lesson: the reports that the lesson prints do not solve it.
_FIRST, *_OTHERS = (
    _on(
        number=1,
        place="entropy_term",
        cause="d",
        sick=unseen_04.entropy_under_grammar,
        seed=1,
        alarm=forbids_a_token,
        mend=entropy_with_zeros_before_the_product,
    ),
    _on(
        number=2,
        place="anchor_term",
        cause="e",
        sick=unseen_04.mean_distance,
        seed=7,
        alarm=has_no_digit,
        mend=mean_by_at_least_one,
    ),
    _on(
        number=3,
        place="policy_term",
        cause="c",
        sick=unseen_04.ratio_to_the_engine,
        seed=0,
        alarm=has_a_far_ratio,
        mend=ratio_bounded_before_exp,
    ),
)
UNSEEN = replace(_FIRST, also=tuple(_OTHERS))
