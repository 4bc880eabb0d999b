"""Exercise 03.8: an unseen run of the same family, to be diagnosed and mended."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.exercises.declare import Criterion, Exercise, Observe
from course_utils.exercises.lesson_03 import trained
from course_utils.exercises.settings import OverSeeds, both, only
from course_utils.reproductions.unseen_03 import (
    CAUSES,
    Patient,
    format_trainer,
    preference_trainer,
)

ASKED = (
    "dtype",
    "optim",
    "learning_rate",
    "adam_epsilon",
    "max_grad_norm",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
)
LAYERS = range(4)  # of the tiny Qwen2
HOW_TO = f"""
`patient.trainer()` builds the run as often as you like, with changes if you want:
`patient.trainer(max_steps=1)`. A fix may set at most two of
{", ".join(ASKED[:4])},
{", ".join(ASKED[4:])}."""


@dataclass(frozen=True)
class Case:
    """What is true of one unseen run."""

    patient: Patient
    broken: tuple[str, ...]  # full names of the tensors that broke first
    parts: tuple[str, ...]  # each stands in the name of a broken part, and in no healthy one's
    cause: str
    looks: tuple[Observe, ...]  # at the runs with a fix, each the first to reject some fix


@dataclass(frozen=True)
class Examined:
    """A diagnosis, and the runs with its fix."""

    place: str
    cause: str
    runs: OverSeeds


def _has_the_form(diagnosis: dict) -> str | None:
    if set(diagnosis) != {"place", "cause", "fix"}:
        keys = ", ".join(map(repr, diagnosis)) or "none"
        return f"the keys 'place', 'cause' and 'fix' are asked; yours are {keys}"
    place, cause, fix = (diagnosis[key] for key in ("place", "cause", "fix"))
    if not isinstance(place, str):
        return f"'place' is a {type(place).__name__}, and one name is asked, as text"
    if not isinstance(cause, str) or _letter(cause) not in CAUSES:
        return f"'cause' is {cause!r}, and one of the letters {', '.join(CAUSES)} is asked"
    if not isinstance(fix, dict):
        return f"'fix' is a {type(fix).__name__}, and a dict of settings is asked"
    return None


def _fix_has_the_form(diagnosis: dict) -> str | None:
    optimizers = ("adamw_torch", "adamw_torch_fused", "adagrad", "sgd")
    look = both(only(*ASKED, at_most=2), trained.optimizer_is_one_of(*optimizers))
    return look(diagnosis["fix"])


is_a_diagnosis = both(_has_the_form, _fix_has_the_form)


def _letter(cause: str) -> str:
    return cause.strip().lower().rstrip(")")


@functools.cache
def _weights(build: Callable) -> tuple[str, ...]:
    """The names of all weights of a run, trained and frozen."""
    return tuple(name for name, _ in build(device="cpu").model.named_parameters())


def _fits(place: str, name: str) -> bool:
    """Whether `place` stands in `name`, in any case; whole parts may be left out at a dot."""
    pattern = r"\.(?:[^.]+\.)*".join(map(re.escape, place.split(".")))
    return re.search(pattern, name, re.IGNORECASE) is not None


def _names_the_place(case: Case) -> Observe:
    def names_the_place(examined: Examined) -> str | None:
        place = examined.place.strip()
        if not any(_fits(place, name) for name in case.broken):
            return f"no tensor that broke first has {place!r} in its name"
        for name in _weights(case.patient.trainer):
            # the frozen original of a broken copy is the same part of the model
            if _fits(place, name) and not any(part in name for part in case.parts):
                return f"{place!r} stands in {name} too, and that is well"
        return None

    return names_the_place


def _names_the_cause(case: Case) -> Observe:
    def names_the_cause(examined: Examined) -> str | None:
        if examined.cause == case.cause:
            return None
        return f"your cause is {examined.cause}) {CAUSES[examined.cause]}; this run shows another"

    return names_the_cause


def _of_the_runs(look: Callable[[trained.Trained], str | None]) -> Observe:
    def observe(examined: Examined) -> str | None:
        return examined.runs.first_unmet(look)

    observe.__name__ = look.__name__
    return observe


all_finite = _of_the_runs(trained.all_finite)
part_moves = _of_the_runs(trained.part_moves)
steps_are_sane = _of_the_runs(trained.steps_are_sane)
squares_are_kept = _of_the_runs(trained.squares_are_kept)


OF_THE_FIX = (
    Criterion(
        "With the fix every trained weight is finite.",
        all_finite,
        why="one dead weight ends the run",
        next="in which format does the step divide?",
    ),
    Criterion(
        "With the fix at least half of each broken tensor moves.",
        part_moves,
        why="finite is not yet trained",
        next="compare an update with the distance to the next number of the format",
    ),
    Criterion(
        "With the fix no weight is thrown further than the schedule or its size allows.",
        steps_are_sane,
        why="a run that lives by leaping has not been mended",
        next="is the learning rate the cause, or a way around it?",
    ),
    Criterion(
        "The optimizer remembers how large each gradient was.",
        squares_are_kept,
        why="what is stored as 0 makes a later step far too long",
        next="where are the squares kept between two steps, and in which format?",
    ),
)


def _examine(case: Case) -> Callable[[dict], Examined]:
    def examine(diagnosis: dict) -> Examined:
        build = case.patient.trainer
        runs = trained.train_over_seeds(build, diagnosis["fix"], case.parts)
        return Examined(diagnosis["place"], _letter(diagnosis["cause"]), runs)

    return examine


JUMPED = Case(
    Patient(
        f"""DPO with LoRA on a tiny Qwen2 in float16, the output layer trained as well.
lr 1e-5, Adagrad; 4 micro-batches of one pair to a step, 5 steps to a log line.
It logged: loss 11.23, grad_norm nan.
{HOW_TO}""",
        preference_trainer,
    ),
    broken=("base_model.model.lm_head.modules_to_save.default.weight",),
    parts=("lm_head", "modules_to_save"),
    cause="c",
    looks=(all_finite, part_moves, steps_are_sane, squares_are_kept),
)
NORMS = ("input_layernorm", "post_attention_layernorm", "norm")
STILL = Case(
    Patient(
        f"""SFT on a tiny Qwen2 in bfloat16; PEFT's LN tuning trains the norms and nothing else.
lr 1e-3, AdamW; 4 sums to a step, 5 steps to a log line.
It logged: loss between 9 and 10.5, grad_norm between 1 and 4. Nothing is nan, nothing is
0, and nothing is learnt.
{HOW_TO}""",
        format_trainer,
    ),
    broken=tuple(
        f"base_model.model.model.{where}.ln_tuning_layers.default.weight"
        for where in (*(f"layers.{n}.{norm}" for n in LAYERS for norm in NORMS[:2]), NORMS[2])
    ),
    parts=(*NORMS, "ln_tuning_layers"),
    cause="d",
    looks=(all_finite, part_moves, steps_are_sane, squares_are_kept),
)


def _exercise(case: Case, title: str, answer: dict) -> Exercise:
    place, cause = _names_the_place(case), _names_the_cause(case)
    return Exercise(
        id="03.8",
        name="UNSEEN",
        title=title,
        minutes=12,
        difficulty="a diagnosis",
        points=5,
        reads="diagnosis",
        expects=(dict,),
        form=is_a_diagnosis,
        hints=(
            "Train it for one step and compare every trained tensor with what it was before.",
            "If something is dead: was the gradient finite, and in which format does the optimizer "
            "work? If nothing is dead: did anything move at all?",
            "Write down one update, in the format of the weight: gradient, divisor, learning rate "
            "times step, and the distance from the weight to its neighbour. Which of them is 0?",
        ),
        criteria=(
            Criterion(
                "The place is part of the name of what broke first, and of nothing else.",
                place,
                why="the first tensor to break is next to the cause",
                next="train_and_compare names every trained tensor; try max_steps=1",
            ),
            Criterion(
                "The cause is the one that the instruments show.",
                cause,
                why="another cause has another remedy",
                next="rule out one cause after the other: forward, gradient, update, log",
            ),
            *(criterion for criterion in OF_THE_FIX if criterion.observe in case.looks),
        ),
        answer=answer,
        run=_examine(case),
        case=lambda: case.patient,
        time_limit_s=120.0,
    )


_STILL = _exercise(
    STILL,
    "An unseen run: the fine-tuning that learns nothing",
    {"place": "ln_tuning", "cause": "d", "fix": {"dtype": "float32"}},
)
_JUMPED = _exercise(
    JUMPED,
    "An unseen run: the preference loss of 11",
    {"place": "lm_head", "cause": "c", "fix": {"dtype": "float32"}},
)
UNSEEN = replace(_JUMPED, also=(_STILL,))
