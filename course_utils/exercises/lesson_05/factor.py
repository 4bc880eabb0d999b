"""Exercise 05.6: how small a stream, proven by training in float16."""

import math
from dataclasses import dataclass
from numbers import Real

import torch

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds
from course_utils.exercises.lesson_05.stand_in import sick, texts_of_the_lesson
from course_utils.gemma3 import check_range, rescale_stream
from course_utils.gemma3.reach import FLOAT16, MARGIN
from course_utils.reproductions.lesson_05.gemma_dpo import Outcome, dpo_trainer, train_and_judge

SEEDS = (0, 1, 2)
ROOM = 64  # the largest number may be this many times below the limit, not more
MEASURING = 1.001  # two measurements of the same numbers differ by their roundings


@dataclass(frozen=True)
class Rescaled:
    """The sick model rescaled by the student's factor: its largest number, and its training."""

    largest: float
    runs: OverSeeds


def rescaled_by(factor) -> Rescaled:
    reach = check_range(rescale_stream(sick(), float(factor)), texts_of_the_lesson())
    largest = max(reach.largest(kind).largest for kind in ("stream", "post-norm"))
    return Rescaled(largest, OverSeeds(lambda seed: train_rescaled(float(factor), seed), SEEDS))


def train_rescaled(factor: float, seed: int) -> Outcome:
    trainer = dpo_trainer(prepare=lambda policy: rescale_stream(policy, factor), seed=seed)
    return train_and_judge(trainer)


def _every_step_finite(outcome: Outcome) -> str | None:
    if outcome.num_dead_steps:
        return f"{outcome.num_dead_steps} of {len(outcome.losses)} steps are not finite"
    return None


def is_a_number_above_0(factor) -> str | None:
    if not isinstance(factor, Real | torch.Tensor):
        return f"a number is asked for; factor is {factor!r}"
    if getattr(factor, "numel", lambda: 1)() != 1:
        return f"one number is asked for; this has {factor.numel()}"
    if isinstance(factor, bool) or not 0 < float(factor) < math.inf:
        return f"a finite number above 0 is asked for; factor is {factor!r}"
    return None


def trains_in_float16(rescaled: Rescaled) -> str | None:
    if seen := rescaled.runs.first_unmet(_every_step_finite):
        passes = "so the forward pass overflows"
        if rescaled.largest < FLOAT16.max:
            passes = "so the forward pass fits, and it is the gradients that overflow"
        return f"{seen}; the largest number of the stream is {_against(rescaled)}, {passes}"
    return None


def _against(rescaled: Rescaled) -> str:
    """The largest number, and its share of the limit.

    >>> _against(Rescaled(6550.4, None))
    '6.55e+03, 0.1 times the limit of 65504'
    """
    share = rescaled.largest / FLOAT16.max
    return f"{rescaled.largest:.3g}, {share:.3g} times the limit of {FLOAT16.max:g}"


def keeps_a_margin(rescaled: Rescaled) -> str | None:
    if rescaled.largest <= FLOAT16.max / MARGIN * MEASURING:
        return None
    return f"the largest number of the stream is {_against(rescaled)}; 0.125 is allowed"


def uses_the_room(rescaled: Rescaled) -> str | None:
    if rescaled.largest * MEASURING >= FLOAT16.max / ROOM:
        return None
    return f"the largest number of the stream is {_against(rescaled)}; at least 0.0156 is asked"


FACTOR = Exercise(
    id="05.6",
    name="FACTOR",
    title="How small must the stream be?",
    minutes=5,
    difficulty="one number",
    points=3,
    reads="factor",
    expects=(object,),
    hints=(
        "What was the largest number of the profile? How far is it from 65504?",
        "Leave a factor of 8 for texts that reach further than yours, and not more than 64: the "
        "smaller the stream, the larger its gradients.",
        "The limit, an eighth of it, and the largest number that you measured: their quotient "
        "is the largest factor that is allowed. A power of two below it costs no rounding.",
    ),
    criteria=(
        Criterion(
            "The run is finite in float16 at every step, from the first, for three seeds.",
            trains_in_float16,
            why="a stream that is too large overflows in the forward pass; one that is 1000 times "
            "smaller has gradients 1000 times larger, which overflow in the backward pass",
            next="multiply largest['sick']['stream'] by your factor: is the result above 65504, or "
            "far below it?",
        ),
        Criterion(
            "No number of the stream is above one eighth of float16's limit.",
            keeps_a_margin,
            why="you measured a few texts; another one may reach further, and one inf is enough",
            next="multiply the largest number in largest['sick']['stream'] by your factor, and "
            "compare the result with 65504 / 8",
        ),
        Criterion(
            "The largest number of the stream is at least 1/64 of float16's limit.",
            uses_the_room,
            why="each halving of the stream doubles its gradients; room that the forward pass does "
            "not need is taken from the backward pass",
            next="multiply the largest number in largest['sick']['stream'] by your factor, and "
            "compare the result with 65504 / 64",
        ),
    ),
    answer=2.0**-8,
    form=is_a_number_above_0,
    run=rescaled_by,
    time_limit_s=120.0,
)
