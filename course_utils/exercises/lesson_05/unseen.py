"""Exercise 05.8: two broken float16 runs that the lesson has not shown, one of them drawn."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import nn

from course_utils.exercises.declare import Criterion, Exercise, Observe
from course_utils.exercises.lesson_05.mended_run import (
    follows_float32,
    learns_as_float32,
    nothing_else_is_changed,
    products_stay_in_half,
    train,
)
from course_utils.exercises.settings import OverSeeds
from course_utils.reproductions.unseen_05 import CAUSES, Patient, loud_channel, summed_weights

SEEDS = (0, 1, 2)
KEYS = ("place", "cause", "mend")
LOSS = ("loss", "compute_loss", "token_weights", "trainer.token_weights")


@dataclass(frozen=True)
class Diagnosed:
    """The place and the cause as given, and the runs with the mend."""

    place: str
    cause: str
    runs: OverSeeds


def _look_at_runs(look: Observe) -> Observe:
    def observe(diagnosed: Diagnosed) -> str | None:
        return look(diagnosed.runs)

    observe.__name__ = look.__name__
    return observe


FOLLOWS, LEARNS, HELD, IN_HALF = map(
    _look_at_runs,
    (follows_float32, learns_as_float32, nothing_else_is_changed, products_stay_in_half),
)


def _plain_name(place: object) -> str:
    """What the instruments print, the short form of section 6 and "Loss" are the same name."""
    words = str(place).strip().split()
    name = (words[-1] if words else "").removeprefix(PREFIX)
    if name.lower() in LOSS:
        return name.lower()
    return f"model.{name}" if name.startswith("layers.") else name


@cache
def _module_names(case: Callable[[], Patient]) -> frozenset[str]:
    return frozenset(_plain_name(name) for name, _ in case().trainer().model.named_modules())


def _has_three_parts(case: Callable[[], Patient]) -> Observe:
    """Place, cause and mend are there; the place exists; the cause is one of the letters."""

    def has_three_parts(diagnosis: dict) -> str | None:
        if set(diagnosis) != set(KEYS):
            return f"the keys {', '.join(KEYS)} are asked; given: {', '.join(map(str, diagnosis))}"
        letter, place = str(diagnosis["cause"]).strip().lower(), _plain_name(diagnosis["place"])
        if letter not in CAUSES:
            return f"cause is {diagnosis['cause']!r}; one of the letters {', '.join(CAUSES)}"
        if not callable(diagnosis["mend"]):
            return f"mend is a {type(diagnosis['mend']).__name__}; a function of the trainer"
        if place not in _module_names(case) | set(LOSS):
            return f'{diagnosis["place"]!r} is no module of this model; its dotted name, or "loss"'
        return None

    return has_three_parts


PREFIX = "base_model.model."  # what PEFT puts before every name


def _mlp(trainer) -> nn.Module:
    return trainer.model.get_submodule(f"{PREFIX}model.layers.2.mlp")


@torch.no_grad()
def quiet_the_channel(trainer):
    mlp = _mlp(trainer)
    loudest = mlp.up_proj.weight.abs().amax(dim=1).argmax()
    mlp.up_proj.weight[loudest] /= 2.0**12
    mlp.down_proj.weight[:, loudest] *= 2.0**12


def weights_in_float32(trainer):
    def token_weights(nll):
        hard = nll.float() ** 3
        return hard / hard.sum()

    trainer.token_weights = token_weights


def _unseen(
    case: Callable[[], Patient],
    title: str,
    places: Callable[[str], bool],
    cause: str,
    hints: tuple[str, ...],
    mend: Callable,
) -> Exercise:
    """The exercise on one case."""

    def place_is_found(diagnosed: Diagnosed) -> str | None:
        return None if places(diagnosed.place) else f"the place given is {diagnosed.place}"

    def cause_is_found(diagnosed: Diagnosed) -> str | None:
        return None if diagnosed.cause == cause else f"the letter given is {diagnosed.cause}"

    def run(diagnosis: dict) -> Diagnosed:
        runs = OverSeeds(lambda seed: train(case, diagnosis["mend"], seed), SEEDS)
        letter = str(diagnosis["cause"]).strip().lower()
        return Diagnosed(_plain_name(diagnosis["place"]), letter, runs)

    right_place = next(name for name in ("model.layers.2.mlp", "loss") if places(name))
    form = _has_three_parts(case)

    return Exercise(
        id="05.8",
        name="UNSEEN",
        title=title,
        minutes=12,
        difficulty="a diagnosis and a small function",
        points=6,
        reads="diagnosis",
        expects=(dict,),
        hints=hints,
        criteria=(
            Criterion(
                "The place is where the first number leaves float16.",
                place_is_found,
                why="what is inf or 0 later was made by it; mending there mends nothing",
                next="which number is the first beyond 65504, in a float32 run of the same batch?",
            ),
            Criterion(
                "The cause is the one that the numbers show.",
                cause_is_found,
                why="each cause has another remedy",
                next="for each letter, say what you would measure, and measure it",
            ),
            Criterion(
                "Over three seeds the losses are the float32 twin's: to 0.1% at first, then to 1%.",
                FOLLOWS,
                why="one inf loses the step, and what is cut off or left out was part of the loss",
                next="print the log of patient.trainer(mend=mend), and that of its float32 twin",
            ),
            Criterion(
                "The report's settings stay: arguments, data, scaler, which weights are trained.",
                HELD,
                why="a run with other settings is another run, and may only avoid the place",
                next="let mend change the model, or how the trainer computes, at the place alone",
            ),
            Criterion(
                "In the first step the gradient of the adapters is the twin's, to 10%.",
                LEARNS,
                why="a loss that is right on the log teaches nothing through a wrong gradient",
                next="what does your mend detach, and what does it let a gradient through?",
            ),
            Criterion(
                "At least 85% of the matrix products are still computed in float16.",
                IN_HALF,
                why="a run that is float32 throughout costs what mixed precision saves",
                next="only one place needs more range",
            ),
        ),
        answer={"place": right_place, "cause": cause, "mend": mend},
        form=form,
        run=run,
        case=case,
        time_limit_s=120.0,
    )


CHANNEL = _unseen(
    loud_channel,
    "Unseen: what broke this SFT run?",
    lambda place: place.startswith("model.layers.2.mlp"),
    "d",
    (
        "Build a trainer, take its batch, and let trace_step name the first number.",
        "It is a product of two factors. Which of them is large, in all channels or in a few? "
        "profile_ranges on the float32 twin names the largest number; look at the weights' rows.",
        "What a row of up_proj puts out is multiplied by silu(gate) and by one column of "
        "down_proj. A factor taken from the one and given to the other leaves the function alone.",
    ),
    quiet_the_channel,
)

WEIGHTS = _unseen(
    summed_weights,
    "Unseen: what broke this Trainer with its own loss?",
    lambda place: place in LOSS,
    "f",
    (
        "Nothing is nan, and the loss is exactly 0. Does profile_ranges find a large number in the "
        "model? What is left, then?",
        "Call token_weights with a few hundred losses between 5 and 20, in float32 and in float16. "
        "Print what it divides by.",
        "Each weight is finite and only their common divisor is not. trainer.token_weights can be "
        "given another function; which step of it needs more range than float16 has?",
    ),
    weights_in_float32,
)

UNSEEN = replace(CHANNEL, also=(WEIGHTS,))
