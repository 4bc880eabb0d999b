"""Exercise 03.8: an unseen run of the same family, to be diagnosed and fixed."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.checks.broken_script import (
    Asked,
    Diagnosis,
    Variant,
    names_the_cause,
    of_the_runs,
)
from course_utils.checks.declare import Criterion
from course_utils.checks.settings import both, only
from course_utils.exercises.lesson_03 import trained
from course_utils.reproductions.lesson_03.unseen_03 import (
    Patient,
    format_trainer,
    preference_trainer,
)

SETTINGS = (
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
{", ".join(SETTINGS[:4])},
{", ".join(SETTINGS[4:])}."""


@dataclass(frozen=True)
class _Variant(Variant):
    """One unseen run; its place is part of the name of a tensor."""

    broken: tuple[str, ...]  # full names of the tensors that broke first
    parts: tuple[str, ...]  # each stands in the name of a broken part, and in no healthy one's

    def place_differs(self, unseen: dict) -> str | None:
        place = unseen["place"]
        if isinstance(place, str):
            return None
        return f"'place' is a {type(place).__name__}, and one name is asked, as text"

    def mend_differs(self, mend: object) -> str | None:
        if not isinstance(mend, dict):
            return f"'fix' is a {type(mend).__name__}, and a dict of settings is asked"
        optimizers = ("adamw_torch", "adamw_torch_fused", "adagrad", "sgd")
        return both(
            only(*SETTINGS, at_most=2),
            trained.optimizer_is_one_of(*optimizers),
            trained.values_are_possible,
        )(mend)


class _Tried(Diagnosis):
    """A diagnosis, and the runs with its fix."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.place = unseen["place"].strip()
        self.runs = trained.train_over_seeds(variant.ticket.trainer, self.fix, variant.parts)


@functools.cache
def _weights(build: Callable) -> tuple[str, ...]:
    """The names of all weights of a run, trained and frozen."""
    return tuple(name for name, _ in build(device="cpu").model.named_parameters())


def _fits(place: str, name: str) -> bool:
    """Whether `place` stands in `name`, in any case; whole parts may be left out at a dot."""
    pattern = r"\.(?:[^.]+\.)*".join(map(re.escape, place.split(".")))
    return re.search(pattern, name, re.IGNORECASE) is not None


def names_the_place(tried: _Tried) -> str | None:
    place, variant = tried.place, tried.variant
    if not any(_fits(place, name) for name in variant.broken):
        return f"no tensor that is at fault has {place!r} in its name"
    for name in _weights(variant.ticket.trainer):
        # the frozen original of a broken copy is the same part of the model
        if _fits(place, name) and not any(part in name for part in variant.parts):
            return f"{place!r} is part of {name} too, and that tensor is healthy"
    return None


all_finite = of_the_runs(trained.all_finite)
part_moves = of_the_runs(trained.part_moves)
steps_are_sane = of_the_runs(trained.steps_are_sane)
squares_are_kept = of_the_runs(trained.squares_are_kept)

ASKED = Asked(
    id="03.8",
    minutes=12,
    difficulty="a diagnosis",
    reads="diagnosis",
    hints=(
        "Train it for one step and compare every trained tensor with what it was before.",
        "If something is dead: was the gradient finite, and in which format does the optimizer "
        "work? If nothing is dead: did anything move at all?",
        "Write down one update, in the format of the weight: gradient, divisor, learning rate "
        "times step, and the distance from the weight to its neighbour. Which of them is 0?",
    ),
    diagnosis=(
        Criterion(
            "The place is part of the name of a tensor at fault, and of no healthy one.",
            names_the_place,
            why="the first tensor that breaks, or does not learn, is next to the cause",
            next="train_and_compare names every trained tensor; try max_steps=1",
        ),
        Criterion(
            "The cause is the one that the instruments show.",
            names_the_cause,
            why="each cause has its own fix",
            next="rule out one cause after the other: forward, gradient, update, log",
        ),
    ),
    mended=(
        Criterion(
            "With the fix every trained weight is finite.",
            all_finite,
            why="one dead weight ends the run",
            next="in which format does the step divide?",
        ),
        Criterion(
            "With the fix at least half of each broken tensor moves.",
            part_moves,
            why="a finite weight may still not be trained",
            next="compare an update with the distance to the next number of the format",
        ),
        Criterion(
            "With the fix no weight moves further than the schedule or its size allows.",
            steps_are_sane,
            why="a run that lives by steps far too long is not fixed",
            next="is the learning rate the cause, or a way around it?",
        ),
        Criterion(
            "The optimizer stores how large each gradient was.",
            squares_are_kept,
            why="what is stored as 0 makes a later step far too long",
            next="where are the squares kept between two steps, and in which format?",
        ),
    ),
    tried=_Tried,
    time_limit_s=120.0,
)


JUMPED = _Variant(
    Patient(
        f"""DPO with LoRA on a tiny Qwen2 in float16; the output layer is trained, too.
lr 1e-5, Adagrad; 4 micro-batches of one pair per step, 5 steps per log line.
It logged: loss 11.23, grad_norm nan.
{HOW_TO}""",
        preference_trainer,
    ),
    place="lm_head",
    cause="c",
    broken=("base_model.model.lm_head.modules_to_save.default.weight",),
    parts=("lm_head", "modules_to_save"),
)
NORMS = ("input_layernorm", "post_attention_layernorm", "norm")
STILL = _Variant(
    Patient(
        f"""SFT on a tiny Qwen2 in bfloat16; PEFT's LN tuning trains only the norms.
lr 1e-3, AdamW; 4 sums per step, 5 steps per log line.
It logged: loss between 9 and 10.5, grad_norm between 1 and 4. Nothing is nan, nothing is
0, and nothing is learned.
{HOW_TO}""",
        format_trainer,
    ),
    place="ln_tuning",
    cause="d",
    broken=tuple(
        f"base_model.model.model.{where}.ln_tuning_layers.default.weight"
        for where in (*(f"layers.{n}.{norm}" for n in LAYERS for norm in NORMS[:2]), NORMS[2])
    ),
    parts=(*NORMS, "ln_tuning_layers"),
)

STOOD_STILL = ASKED.on(
    STILL,
    "An unseen run: the fine-tuning that learns nothing",
    mend={"fix": {"dtype": "float32"}},
)
JUMPED_FAR = ASKED.on(
    JUMPED,
    "An unseen run: the preference loss of 11",
    mend={"fix": {"dtype": "float32"}},
)
UNSEEN = replace(JUMPED_FAR, also=(STOOD_STILL,))
