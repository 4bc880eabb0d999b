"""Exercise 05.6: how small a stream, proven by training in float16."""

import math
from dataclasses import dataclass

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_05.stand_in import BATCH, sick
from course_utils.gemma3 import check_range, rescale_stream
from course_utils.gemma3.reach import FLOAT16, MARGIN
from course_utils.reproductions.gemma_dpo import Outcome, dpo_trainer, train_and_judge


@dataclass(frozen=True)
class Rescaled:
    """The sick model rescaled by the student's factor: its largest number and its training."""

    largest: float
    outcome: Outcome


def train_rescaled(factor: float) -> Rescaled:
    reach = check_range(rescale_stream(sick(), float(factor)), BATCH)
    trainer = dpo_trainer(prepare=lambda policy: rescale_stream(policy, float(factor)))
    largest = max(reach.largest(kind).largest for kind in ("stream", "post-norm"))
    return Rescaled(largest, train_and_judge(trainer))


def trains_in_float16(rescaled) -> str | None:
    outcome = rescaled.outcome
    if not outcome.num_dead_steps:
        return None
    steps = f"{outcome.num_dead_steps} of {len(outcome.losses)} steps are not finite"
    return f"{steps}; the largest number of the forward pass is {rescaled.largest:.2g}"


def keeps_a_margin(rescaled) -> str | None:
    if rescaled.largest <= FLOAT16.max / MARGIN:
        return None
    share = rescaled.largest / FLOAT16.max
    return f"the largest number is {rescaled.largest:.3g}, that is {share:.2g} of the limit"


FACTOR = Exercise(
    id="05.6",
    name="FACTOR",
    title="How small must the stream be?",
    minutes=5,
    difficulty="one number",
    points=3,
    reads="factor",
    expects=(float, int),
    hints=(
        "What was the largest number of the profile? How far is it from 65504?",
        "Leave a factor of 8 for texts that reach further than yours. Much smaller is no better: "
        "what the stream loses, its gradients gain.",
        "A power of two just below 65504 / 8 / (largest number of the stream): about a hundredth.",
    ),
    criteria=(
        Criterion(
            "The run is finite in float16 at every step, from the first.",
            trains_in_float16,
            why="a stream too large overflows forward; k times smaller, its gradients are k times "
            "larger, and overflow backward",
            next="compare the largest number of the forward pass with 65504: too large, or tiny?",
        ),
        Criterion(
            "No number of the stream is above one eighth of float16's limit.",
            keeps_a_margin,
            why="you measured a few texts; another one reaches further, and one inf is enough",
            next="divide 65504 / 8 by the largest number of the stream, not of the post-norms",
        ),
    ),
    right=(2.0**-8, 0.01, math.ldexp(1.0, -15)),
    wrong=(
        Wrong(1, caught_by=trains_in_float16),
        Wrong(32.0, caught_by=trains_in_float16),
        Wrong(1e-10, caught_by=trains_in_float16),
        Wrong(2.0**-25, caught_by=trains_in_float16),
        Wrong(0.1, caught_by=keeps_a_margin),
        Wrong(1 / 16, caught_by=keeps_a_margin),
    ),
    run=train_rescaled,
    time_limit_s=120.0,
)
