"""Exercise 05.8: two broken float16 runs that the lesson has not shown, one of them drawn."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache

import torch

from course_utils.exercises.declare import TODO, Criterion, Exercise, Observe, Wrong
from course_utils.exercises.lesson_05 import mends as m
from course_utils.exercises.lesson_05.products import Products
from course_utils.exercises.settings import OverSeeds, over_seeds
from course_utils.reproductions.unseen_05 import CAUSES, Patient, loud_channel, summed_weights

SEEDS = (0, 1, 2)
KEYS = ("place", "cause", "mend")
LOSS = ("loss", "compute_loss", "token_weights", "trainer.token_weights")
EXACT, CLOSE = 1e-3, 1e-2  # of the loss: float16 products cost 3e-4 at first, 2e-3 after updates


@dataclass(frozen=True)
class Trained:
    """What one run with the student's mend did, beside its float32 twin."""

    losses: list[float] = field(default_factory=list)
    twin: tuple[float, ...] = ()
    changed: str | None = None  # a setting that mend changed
    share_half: float = 0.0  # of all matrix products, those in float16
    error: str | None = None  # what mend or the training raised


@dataclass(frozen=True)
class Diagnosed:
    """The place and the cause as given, and the runs with the mend."""

    place: str
    cause: str
    runs: OverSeeds


@cache
def losses_of_twin(case: Callable[[], Patient], seed: int) -> tuple[float, ...]:
    trainer = case().trainer(fp16=False, seed=seed)
    trainer.train()
    return tuple(_logged(trainer))


def train(case: Callable[[], Patient], mend: Callable, seed: int) -> Trained:
    """Train with `mend`; what it or the training raises is part of the outcome."""
    trainer = case().trainer(seed=seed)
    trainer.args.logging_nan_inf_filter = False
    held, changed, products = _settings(trainer), None, Products()
    try:
        if mend(trainer) is TODO:
            return Trained(error="mend, which is still TODO")
        now = _settings(trainer)
        changed = next((key for key in held if now.get(key) != held[key]), None)
        _count_in_the_first_step(trainer, products)
        trainer.train()
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return Trained(changed=changed, error=f"{type(error).__name__}: {lines[0][:120]}")
    share = products.share(torch.float16)
    return Trained(_logged(trainer), losses_of_twin(case, seed), changed, share)


def _count_in_the_first_step(trainer, products: Products) -> None:
    compute_loss = trainer.compute_loss

    def counted(*args, **kwargs):
        with nullcontext() if products.count else products:
            return compute_loss(*args, **kwargs)

    trainer.compute_loss = counted


def _logged(trainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def _settings(trainer) -> dict[str, object]:
    """What the report fixes: arguments, data, callbacks, scaler, and which tensors are trained."""
    names = [name for name, p in trainer.model.named_parameters() if p.requires_grad]
    return {
        **{f"args.{key}": value for key, value in trainer.args.to_dict().items()},
        "train_dataset": id(trainer.train_dataset),
        "the callbacks": [type(c).__name__ for c in trainer.callback_handler.callbacks],
        "the mixed precision": trainer.accelerator.native_amp,
        "the gradient scaler": id(trainer.accelerator.scaler),
        "the set of trained weights": names,
    }


@over_seeds
def nothing_else_is_changed(run: Trained) -> str | None:
    return f"mend changes {run.changed} of the trainer" if run.changed else None


@over_seeds
def every_loss_is_finite(run: Trained) -> str | None:
    if run.error:
        return f"the run ends with {run.error}"
    bad = [step for step, loss in enumerate(run.losses, 1) if not abs(loss) < float("inf")]
    return f"the loss is not finite at {len(bad)} of {len(run.losses)} steps" if bad else None


@over_seeds
def follows_float32(run: Trained) -> str | None:
    for step, (loss, want) in enumerate(zip(run.losses, run.twin, strict=False), 1):
        if not abs(loss - want) <= (EXACT if step == 1 else CLOSE) * want:
            return f"step {step} logs the loss {loss:.4g}, its float32 twin {want:.4g}"
    return None if run.losses else f"no loss to compare: the run ends with {run.error}"


@over_seeds
def products_stay_in_half(run: Trained) -> str | None:
    if run.share_half >= 0.85:  # all but one MLP of the four
        return None
    if run.error:
        return f"no product to count: the run ends with {run.error}"
    return f"{run.share_half:.0%} of the matrix products are computed in float16"


def _look_at_runs(look: Observe) -> Observe:
    def observe(diagnosed: Diagnosed) -> str | None:
        return look(diagnosed.runs)

    observe.__name__ = look.__name__
    return observe


HELD, FINITE, FOLLOWS, IN_HALF = map(
    _look_at_runs,
    (nothing_else_is_changed, every_loss_is_finite, follows_float32, products_stay_in_half),
)


def _plain_name(place: object) -> str:
    words = str(place).strip().split()
    return (words[-1] if words else "").removeprefix(m.PREFIX)


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
        known = {_plain_name(name) for name, _ in case().trainer().model.named_modules()}
        if place not in known | set(LOSS):
            return f'{diagnosis["place"]!r} is no module of this model; its dotted name, or "loss"'
        return None

    return has_three_parts


def _unseen(
    case: Callable[[], Patient],
    title: str,
    places: Callable[[str], bool],
    cause: str,
    hints: tuple[str, ...],
    mends: tuple[Callable, ...],
    bad_mends: tuple[tuple[Callable, Observe], ...],
    misled: tuple[tuple[str, str], ...],
) -> Exercise:
    """The exercise on one case; `misled` are pairs of a wrong place and a wrong cause."""

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

    def answer(place=right_place, letter=cause, mend=mends[0]) -> dict:
        return {"place": place, "cause": letter, "mend": mend}

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
                "The report's settings stay: arguments, data, scaler, trained weights.",
                HELD,
                why="a run with other settings is another run, and may only avoid the place",
                next="let mend change the model, or how the trainer computes, at the place alone",
            ),
            Criterion(
                "With your mend every step of three seeds logs a finite loss.",
                FINITE,
                why="one number beyond the range is enough to lose the step",
                next="run patient.trainer(mend=mend).train() yourself, and trace a step of it",
            ),
            Criterion(
                "The losses are those of the float32 twin: to 0.1% at first, then to 1%.",
                FOLLOWS,
                why="what is cut off, replaced or left out was part of the function",
                next="compare with patient.trainer(fp16=False) step by step",
            ),
            Criterion(
                "At least 85% of the matrix products are still computed in float16.",
                IN_HALF,
                why="a run that is float32 throughout costs what mixed precision saves",
                next="only one place needs more range",
            ),
        ),
        right=(
            *(answer(mend=mend) for mend in mends),
            answer(place=f"output of {m.PREFIX}{right_place}", letter=f" {cause.upper()}"),
        ),
        wrong=(
            *(Wrong(answer(place, letter, m.leave), place_is_found) for place, letter in misled),
            Wrong(answer(letter="b", mend=m.leave), cause_is_found),
            *(Wrong(answer(mend=mend), caught_by=look) for mend, look in bad_mends),
            *(Wrong(answer(mend=mend), caught_by=look) for mend, look in NO_MENDS),
            Wrong({"place": right_place, "cause": cause}, caught_by=form),
            Wrong(answer(letter="float16"), caught_by=form),
            Wrong(answer(place="the third layer"), caught_by=form),
            Wrong(answer(mend="bf16"), caught_by=form),
        ),
        form=form,
        run=run,
        case=case,
        time_limit_s=120.0,
    )


NO_MENDS = (
    (m.turn_the_rate_down, HELD),
    (m.turn_fp16_off, HELD),
    (m.take_the_scaler_away, HELD),
    (m.misspelt, FINITE),
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
    (m.quiet_the_channel, m.quiet_all_channels, m.one_mlp_in_float32),
    (
        (m.leave, FINITE),
        (m.cast_after_the_product, FINITE),
        (m.clamp_the_product, FOLLOWS),
        (m.replace_what_is_not_finite, FOLLOWS),
        (m.quiet_without_compensation, FOLLOWS),
        (m.without_autocast, IN_HALF),
    ),
    (("model.layers.3.input_layernorm", "d"), ("model.embed_tokens", "b"), ("loss", "f")),
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
    (m.weights_in_float32, m.weights_by_the_mean, m.weights_of_smaller_numbers),
    (
        (m.leave, FOLLOWS),
        (m.weights_by_exp, FINITE),
        (m.all_tokens_alike, FOLLOWS),
        (m.weights_by_squares, FOLLOWS),
        (m.sum_clamped, FOLLOWS),
        (m.cast_after_the_sum, FOLLOWS),
        (m.weights_right_and_all_in_float32, IN_HALF),
    ),
    (("model.layers.1", "b"), ("model.embed_tokens", "c"), ("lm_head", "e")),
)

UNSEEN = replace(CHANNEL, also=(WEIGHTS,))
