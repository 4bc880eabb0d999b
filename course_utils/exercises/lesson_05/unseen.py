"""Exercise 05.8: two broken float16 runs that the lesson has not shown, one of them drawn."""

from dataclasses import replace
from functools import cache

import torch
from torch import nn

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, names_the_cause
from course_utils.checks.declare import Criterion
from course_utils.checks.settings import OverSeeds
from course_utils.exercises.lesson_05.mended_run import (
    follows_float32,
    learns_as_float32,
    nothing_else_is_changed,
    products_stay_in_half,
    runs_without_bfloat16,
    train,
)
from course_utils.reproductions.lesson_05.unseen_05 import Patient, loud_channel, summed_weights

SEEDS = (0, 1, 2)
LOSS = ("loss", "compute_loss", "token_weights", "trainer.token_weights")


class _Variant(Variant):
    mend_is = "a function of the trainer"

    def place_differs(self, unseen: dict) -> str | None:
        if _plain_name(unseen["place"]) in _module_names(self.ticket) | set(LOSS):
            return None
        return f'{unseen["place"]!r} is no module of this model; its dotted name, or "loss"'


def _plain_name(place: object) -> str:
    """What the instruments print, the short form of section 6 and "Loss" are the same name."""
    words = str(place).strip().split()
    name = (words[-1] if words else "").removeprefix(PREFIX)
    if name.lower() in LOSS:
        return name.lower()
    return f"model.{name}" if name.startswith("layers.") else name


@cache
def _module_names(patient: Patient) -> frozenset[str]:
    return frozenset(_plain_name(name) for name, _ in patient.trainer().model.named_modules())


class _Tried(Diagnosis):
    """A diagnosis, and the runs with its fix."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.place = _plain_name(unseen["place"])
        self.runs = OverSeeds(lambda seed: train(variant.ticket, self.fix, seed), SEEDS)


def place_is_found(tried: _Tried) -> str | None:
    place = "loss" if tried.place in LOSS else tried.place
    reads_it = f"{tried.variant.place}.down_proj"  # profile_ranges names its input
    is_found = place in (tried.variant.place, reads_it)
    return None if is_found else f"the place given is {tried.place}"


ASKED = Asked(
    id="05.8",
    minutes=12,
    difficulty="a diagnosis and a small function",
    points=6,
    reads="diagnosis",
    hints=(),
    diagnosis=(
        Criterion(
            "The place is where the first number leaves float16.",
            place_is_found,
            why="every later inf or 0 comes from it; a fix at a later place fixes nothing",
            next="which number is the first beyond 65504, in a float32 run of the same batch?",
        ),
        Criterion(
            "The cause is the one that the numbers show.",
            names_the_cause,
            why="each cause needs a different fix",
            next="for each letter, decide what you would measure, and measure it",
        ),
    ),
    mended=(
        Criterion(
            "Over three seeds the losses are the float32 twin's: to 0.1% at first, then to 1%.",
            follows_float32,
            why="one inf loses the step; a number that is cut off or left out changes the loss",
            next="print the log of patient.trainer(fix=fix_run), and that of its float32 twin",
        ),
        Criterion(
            "The report's settings stay: arguments, data, scaler, which weights are trained.",
            nothing_else_is_changed,
            why="a run with other settings is another run, and may only avoid the place",
            next="let the fix change the model, or how the trainer computes, at the place alone",
        ),
        Criterion(
            "In the first step the gradient of the adapters is the twin's, to 10%.",
            learns_as_float32,
            why="a right loss with a wrong gradient trains something else",
            next="what does your fix detach, and where does it let a gradient pass?",
        ),
        Criterion(
            "At least 85% of the matrix products are still computed in float16.",
            products_stay_in_half,
            why="a run that is float32 throughout costs what mixed precision saves",
            next="only one place needs more range",
        ),
        Criterion(
            "Nothing is computed in bfloat16: the ticket's device has none.",
            runs_without_bfloat16,
            why="a fix that its owner's device cannot run is no fix",
            next="float32 has the range for the one place, and a smaller number may fit float16",
        ),
    ),
    tried=_Tried,
    time_limit_s=120.0,
)


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


CHANNEL = ASKED.on(
    _Variant(loud_channel(), "model.layers.2.mlp", "d"),
    "Unseen: what broke this SFT run?",
    hints=(
        "Build a trainer, take its batch, and let trace_step name the first number.",
        "It is a product of two factors. Which of them is large, in all channels or in a few? "
        "profile_ranges on the float32 twin names the largest number; look at the weights' rows.",
        "What a row of up_proj puts out is multiplied by silu(gate) and by one column of "
        "down_proj. Divide one by a factor and multiply the other by it: the function stays.",
    ),
    mend=quiet_the_channel,
)
WEIGHTS = ASKED.on(
    _Variant(summed_weights(), "loss", "f"),
    "Unseen: what broke this Trainer with its own loss?",
    hints=(
        "Nothing is nan, and the loss is exactly 0. Does profile_ranges find a large number in the "
        "model? What is left, then?",
        "Call token_weights with a few hundred losses between 5 and 20, in float32 and in float16. "
        "Print what it divides by.",
        "Each weight is finite; only their common divisor is not. You may replace "
        "trainer.token_weights; which step of it needs more range than float16 has?",
    ),
    mend=weights_in_float32,
)
UNSEEN = replace(CHANNEL, also=(WEIGHTS,))
