"""Checks what a run with a fix has done to the weights that a report is about.

The criteria of 03.5 and of the unseen runs: alive, moved, at a sane pace, by an optimizer that
remembers.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from course_utils.checks.declare import Observe
from course_utils.checks.settings import OverSeeds, plain
from course_utils.checks.watched_calls import PASS_ON, AnswerRaised
from course_utils.reproductions.lesson_03.reward_model import (
    MAX_LEARNING_RATES,
    MAX_SHARE_FORGOTTEN,
    MIN_SHARE_MOVED,
)
from course_utils.zoo.training import WeightChange, train_and_compare

SEEDS = (0, 1, 2)
FORMATS = ("auto", "float16", "bfloat16", "float32", "float64")
NUMBERS = ("learning_rate", "adam_epsilon", "max_grad_norm", "weight_decay")
COUNTS = ("per_device_train_batch_size", "gradient_accumulation_steps")
REPORTED_STEPS = 3  # of 03.5, for which MAX_LEARNING_RATES was chosen
MAX_SHARE = 0.5  # of the size of the weights; a step of 1e-5 on weights of 0.02 is 0.0005


@dataclass(frozen=True)
class Trained:
    """One finished run: its trained tensors, and which of them the report is about."""

    changes: list[WeightChange]
    parts: tuple[str, ...]  # one of them is in the name of every tensor of the report
    num_steps: int
    learning_rate: float

    @property
    def watched(self) -> list[WeightChange]:
        return [c for c in self.changes if any(part in c.name for part in self.parts)]

    @property
    def max_learning_rates(self) -> float:
        """The bound of 03.5, in proportion to what the decaying schedule adds up to."""
        return MAX_LEARNING_RATES * (self.num_steps + 1) / (REPORTED_STEPS + 1)


def train_over_seeds(build: Callable, fix: dict, parts: tuple[str, ...]) -> OverSeeds:
    """Runs of `build(seed=..., device="cpu", **fix)`, which returns a Trainer.

    Raises:
        AnswerRaised: a run raised, at the time when a criterion looks at it.
    """

    def train(seed: int) -> Trained:
        try:
            trainer = build(**(plain(fix) | {"seed": seed, "device": "cpu"}))
            changes, args = train_and_compare(trainer), trainer.args
            return Trained(changes, parts, args.max_steps, args.learning_rate)
        except PASS_ON:
            raise
        except Exception as error:
            raise AnswerRaised(error, f"fix = {fix}") from error

    return OverSeeds(train, SEEDS)


def optimizer_is_one_of(*names: str) -> Observe:
    """Form of a fix: its optimizer, if it names one, is one that the lesson has looked into."""

    def knows_the_optimizer(fix: dict) -> str | None:
        name = getattr(fix.get("optim"), "value", fix.get("optim"))
        is_known = name in names or "optim" not in fix
        return None if is_known else f"optim {name!r} is not one of {', '.join(names)}"

    return knows_the_optimizer


def values_are_possible(fix: dict) -> str | None:
    """Form of a fix: each number is one that a trainer can take."""
    for key, value in plain(fix).items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key in COUNTS and not (is_number and isinstance(value, int) and value >= 1):
            return f"{key} is a whole number, 1 or more; you gave {value!r}"
        if key in NUMBERS and not (is_number and 0 <= value < math.inf):
            return f"{key} is a number, 0 or more; you gave {value!r}"
        if key == "dtype" and str(value).removeprefix("torch.") not in FORMATS:
            return f"dtype is one of {', '.join(FORMATS)}; you gave {value!r}"
    return None


def all_finite(run: Trained) -> str | None:
    dead = [change for change in run.changes if change.num_dead]
    if not dead:
        return None
    return f"{len(dead)} of {len(run.changes)} trained tensors hold inf or nan after {_steps(run)}"


def part_is_trained(run: Trained) -> str | None:
    return None if run.watched else f"no weight of `{run.parts[0]}` is trained"


def _on_living_weights(look: Callable[[Trained], str | None]) -> Observe:
    """A criterion that has something to look at only where the weights are trained and alive."""

    @functools.wraps(look)
    def observe(run: Trained) -> str | None:
        if not run.watched or any(change.num_dead for change in run.watched):
            return f"there is no living, trained `{run.parts[0]}` to look at"
        return look(run)

    return observe


@_on_living_weights
def part_moves(run: Trained) -> str | None:
    stillest = min(run.watched, key=lambda change: change.share_moved)
    if stillest.share_moved >= MIN_SHARE_MOVED:
        return None
    moved = round(stillest.share_moved * stillest.num_weights)
    return f"{moved} of {stillest.num_weights} weights of {_name(stillest)} moved in {_steps(run)}"


@_on_living_weights
def steps_are_sane(run: Trained) -> str | None:
    in_rates = max(run.watched, key=lambda change: change.largest_move)
    if in_rates.largest_move > run.max_learning_rates:
        far = f"{in_rates.largest_move:.0f} learning rates"
        return f"a weight of {_name(in_rates)} moved by {far} in {_steps(run)}"
    in_size = max(run.watched, key=lambda change: change.largest_share)
    if in_size.largest_share > MAX_SHARE:
        far = f"{in_size.largest_share:.2g} times the root mean square that they had before"
        return f"of the weights of {_name(in_size)} one moved by {far}, in {_steps(run)}"
    return None


@_on_living_weights
def squares_are_kept(run: Trained) -> str | None:
    worst = max(run.watched, key=lambda change: change.share_forgotten)
    if not worst.keeps_squares:
        return "this optimizer keeps no memory of how large the gradients were"
    if worst.share_forgotten <= MAX_SHARE_FORGOTTEN:
        return None
    lost = round(worst.share_forgotten * worst.num_weights)
    return f"{lost} of {worst.num_weights} gradients of {_name(worst)}, not 0, are squared to 0"


def _steps(run: Trained) -> str:
    return f"{run.num_steps} steps"


def _name(change: WeightChange) -> str:
    return f"{change.name.removeprefix('base_model.model.')} ({change.dtype})"
